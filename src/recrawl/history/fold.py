"""Folds visits into the columns of their pages: the one definition of what a visit changes.

The store folds each batch into the columns that it keeps; a replay does the same in memory.
Times are integer microseconds here, `NO_TIME` where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recrawl.model import FloatArray

NO_TIME = np.iinfo(np.int64).min
DAY_US = 86_400_000_000

FAILED, OK, GONE = 0, 1, 2  #: outcome of a visit
SAME, DIFFERS, UNKNOWN = 0, 1, -1  #: outcome of a comparison

Times = NDArray[np.int64]
Small = NDArray[np.int8]


@dataclass
class PageState:
    """The folded columns of some pages; `fold` updates the arrays in place."""

    first_visit: Times
    last_visit: Times
    last_attempt: Times
    last_change: Times
    copy_at: Times  #: when the copy we compare with was last known to be right
    n_visits: NDArray[np.int32]
    n_compared: NDArray[np.int32]
    n_changes: NDArray[np.int32]
    exposure: FloatArray
    recent: NDArray[np.uint64]
    failures: NDArray[np.int32]
    flips: NDArray[np.int32]
    gone: NDArray[np.bool_]
    bytes: FloatArray
    seconds: FloatArray

    @staticmethod
    def empty(n: int) -> PageState:
        """Pages without visits."""
        columns: dict[str, Any] = {name: np.full(n, NO_TIME) for name in TIMES}
        columns |= {name: np.zeros(n, np.int32) for name in COUNTS}
        return PageState(
            **columns,
            exposure=np.zeros(n),
            recent=np.zeros(n, np.uint64),
            gone=np.zeros(n, np.bool_),
            bytes=np.full(n, np.nan),
            seconds=np.full(n, np.nan),
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


TIMES = ("first_visit", "last_visit", "last_attempt", "last_change", "copy_at")
COUNTS = ("n_visits", "n_compared", "n_changes", "failures", "flips")


@dataclass(frozen=True)
class Folded:
    """What each visit shows."""

    changed: Small  #: SAME, DIFFERS or UNKNOWN
    days: FloatArray  #: length of the compared interval; NaN where the outcome is unknown
    flipped: NDArray[np.bool_]


def status_outcomes(status: NDArray[np.int16]) -> Small:
    """FAILED, OK or GONE for each HTTP status; a negative status means "not recorded"."""
    ok = (status < 0) | ((status >= 200) & (status < 300)) | (status == 304)
    busy = (status == 408) | (status == 425) | (status == 429)
    gone = (status >= 400) & (status < 500) & ~busy
    return np.where(ok, OK, np.where(gone, GONE, FAILED)).astype(np.int8)


def fold(
    state: PageState,
    row: NDArray[np.int64],
    at: Times,
    outcome: Small,
    differs: Small,
    is_reported: NDArray[np.bool_],
    is_copy: NDArray[np.bool_],
    size: FloatArray,
    seconds: FloatArray,
) -> Folded:
    """Fold visits, sorted by page and time, into `state`; `row` is the page's row in it.

    `differs` compares the visit with the copy before it or, where `is_reported` by the source,
    with the last success. `is_copy`: later visits can be compared with this one.
    """
    changed = np.full(len(row), UNKNOWN, np.int8)
    days = np.full(len(row), np.nan)
    flipped = np.zeros(len(row), np.bool_)
    arrays = tuple(state.columns().values())
    _fold_kernel(
        arrays,
        row,
        at,
        outcome,
        differs,
        is_reported,
        is_copy,
        size,
        seconds,
        changed,
        days,
        flipped,
    )
    return Folded(changed, days, flipped)


@njit(cache=True)
def _fold_kernel(  # type: ignore[no-untyped-def]
    arrays, row, at, outcome, differs, is_reported, is_copy, size, seconds, changed, days, flipped
):  # pragma: no cover
    first, last, attempt, change, copy_at, visits, compared, changes = arrays[:8]
    exposure, recent, failures, flips, gone, last_size, last_seconds = arrays[8:]
    for i in range(len(row)):
        p = row[i]
        visits[p] += 1
        attempt[p] = at[i]
        if outcome[i] != OK:
            failures[p] += 1
            if outcome[i] == GONE and not gone[p] and last[p] != NO_TIME:
                flipped[i] = True
            gone[p] = gone[p] or outcome[i] == GONE
            flips[p] += flipped[i]
            continue
        flipped[i] = gone[p] and last[p] != NO_TIME
        flips[p] += flipped[i]
        gone[p] = False
        failures[p] = 0
        if first[p] == NO_TIME:
            first[p] = at[i]
        since = last[p] if is_reported[i] else copy_at[p]
        last[p] = at[i]
        if not np.isnan(size[i]):
            last_size[p] = size[i]
        if not np.isnan(seconds[i]):
            last_seconds[p] = seconds[i]
        if differs[i] != UNKNOWN and since != NO_TIME:
            changed[i] = differs[i]
            days[i] = (at[i] - since) / DAY_US
            exposure[p] += days[i]
            compared[p] += 1
            recent[p] = (recent[p] << np.uint64(1)) | np.uint64(differs[i])
            if differs[i] == DIFFERS:
                changes[p] += 1
                change[p] = at[i]
        if differs[i] != UNKNOWN or is_copy[i]:
            copy_at[p] = at[i]
