"""What did each compared visit show? The intervals behind the columns, and no later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.model import Intervals

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Pages

KEPT = 64  #: outcomes the column `recent` holds


def starts(counts: IntArray) -> IntArray:
    """Where the intervals of each page start, and at the end where the last ones stop."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def owners(start: IntArray) -> IntArray:
    """The row of the pages that owns each interval."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


@njit(cache=True)
def total(start: IntArray, values: FloatArray) -> FloatArray:
    """Sum of the values of each page."""
    sums = np.zeros(len(start) - 1)
    for page in range(len(sums)):
        for i in range(start[page], start[page + 1]):
            sums[page] += values[i]
    return sums


def past(pages: Pages, *, never_seen: bool = False) -> Intervals:
    """The intervals that the columns speak of; a visit recorded after them is left out."""
    found = pages.intervals(never_seen=never_seen)
    if np.array_equal(np.diff(found.start), pages.n_compared):
        return found
    row = owners(found.start)
    keep = np.arange(len(row)) - found.start[row] < pages.n_compared[row]
    counts = np.bincount(row[keep], minlength=len(pages))
    columns = {name: column[keep] for name, column in found.columns().items()}
    return Intervals(start=starts(counts), **columns)


def outcomes(pages: Pages) -> tuple[IntArray, BoolArray]:
    """Changed or not at each compared visit, oldest first, and where each page starts.

    Read from `recent`, which is complete for all but pages of more than 64 compared visits.
    """
    start = starts(pages.n_compared)
    changed = np.zeros(start[-1], dtype=np.bool_)
    _unpack(pages.recent, start, changed)
    long = np.flatnonzero(pages.n_compared > KEPT)
    if long.size:
        older = past(pages.take(long))
        shift = np.repeat(start[long] - older.start[:-1], np.diff(older.start))
        changed[np.arange(len(shift)) + shift] = older.changed
    return start, changed


@njit(cache=True)
def _unpack(recent: KeyArray, start: IntArray, changed: BoolArray) -> None:
    for page in range(len(recent)):
        newest = start[page + 1] - 1
        for back in range(min(start[page + 1] - start[page], KEPT)):
            changed[newest - back] = (recent[page] >> np.uint64(back)) & np.uint64(1)
