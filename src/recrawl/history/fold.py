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

from recrawl.model import FAILURES
from recrawl.page.responses import NOT_PUBLIC, ROBOTS_FORBIDS, ROBOTS_UNREACHABLE

if TYPE_CHECKING:
    import pyarrow as pa

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
    retries: NDArray[np.int32]
    returns: NDArray[np.int32]
    flips: NDArray[np.int32]
    failure: NDArray[np.uint8]
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
            failure=np.zeros(n, np.uint8),
            gone=np.zeros(n, np.bool_),
            bytes=np.full(n, np.nan),
            seconds=np.full(n, np.nan),
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


TIMES = ("first_visit", "last_visit", "last_attempt", "last_change", "copy_at")
COUNTS = ("n_visits", "n_compared", "n_changes", "failures", "retries", "returns", "flips")


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


def failure_kinds(
    status: NDArray[np.int16], problem: pa.ChunkedArray | None = None
) -> NDArray[np.uint8]:
    """Why each visit failed, as a place in FAILURES; 0 for one that did not fail.

    A status of 0 says that there was no answer; `problem` then says why.
    """
    is_redirect = (status >= 300) & (status < 400) & (status != 304)
    is_busy = (status == 408) | (status == 425) | (status == 429)
    cases = {
        "not found (404)": status == 404,
        "gone (410)": status == 410,
        "server error": (status >= 500) | is_busy,
        "refused (4xx)": (status >= 400) & (status < 500),
        "redirected": is_redirect,
        "no answer": (status >= 0) & (status < 200),
    }
    kinds = [FAILURES.index(name) for name in cases]
    kind = np.select(list(cases.values()), kinds, 0).astype(np.uint8)
    if problem is None or problem.null_count == len(problem):
        return kind
    coded = problem.combine_chunks().dictionary_encode()
    named = [_KIND_OF_PROBLEM.get(text, _NO_ANSWER) for text in coded.dictionary.to_pylist()]
    by_code = np.array([*named, _NO_ANSWER], np.uint8)
    known = by_code[coded.indices.fill_null(len(named)).to_numpy()]
    return np.where(status == 0, known, kind).astype(np.uint8)


_NO_ANSWER = FAILURES.index("no answer")
_KIND_OF_PROBLEM = {
    "timeout": FAILURES.index("timeout"),
    "dns": FAILURES.index("no such host"),
    ROBOTS_FORBIDS: FAILURES.index("robots.txt"),
    ROBOTS_UNREACHABLE: FAILURES.index("server error"),
    NOT_PUBLIC: FAILURES.index("not public"),
}


def fold(
    state: PageState,
    row: NDArray[np.int64],
    at: Times,
    outcome: Small,
    kind: NDArray[np.uint8],
    differs: Small,
    is_reported: NDArray[np.bool_],
    is_copy: NDArray[np.bool_],
    size: FloatArray,
    seconds: FloatArray,
) -> Folded:
    """Fold visits, sorted by page and time, into `state`; `row` is the page's row in it.

    `kind` says why a visit failed.
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
        kind,
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
    arrays,
    row,
    at,
    outcome,
    kind,
    differs,
    is_reported,
    is_copy,
    size,
    seconds,
    changed,
    days,
    flipped,
):  # pragma: no cover
    first, last, attempt, change, copy_at, visits, compared, changes = arrays[:8]
    exposure, recent, failures, retries, returns, flips, failure, gone = arrays[8:16]
    last_size, last_seconds = arrays[16:]
    for i in range(len(row)):
        p = row[i]
        visits[p] += 1
        attempt[p] = at[i]
        retries[p] += failures[p] > 0
        returns[p] += failures[p] > 0 and outcome[i] == OK
        if outcome[i] != OK:
            failures[p] += 1
            failure[p] = kind[i]
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
