"""What did each past visit show? The one view of compared visits, and of no later ones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.model import DAY, starts

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Intervals, KeyArray, Pages

#: What counts as a hit: a change, new links, or links that no page had held.
EVENTS = ("change", "links", "never-seen-links")
RECENT_BITS = 64  #: outcomes that the column `recent` holds


@dataclass(frozen=True)
class PastVisits:
    """Some past visits in any order, and what each showed of one kind of event."""

    page: IntArray  #: row of the page
    at: FloatArray  #: seconds
    days: FloatArray  #: since the copy before
    size: FloatArray  #: 1 for a change, or the number of new links; 0 for none
    age: FloatArray  #: days since the last modification, by Last-Modified; NaN: not known

    @property
    def hit(self) -> BoolArray:
        return self.size > 0

    def __len__(self) -> int:
        return len(self.page)

    def take(self, rows: IntArray | slice) -> PastVisits:
        columns = (getattr(self, f.name)[rows] for f in fields(self))
        return PastVisits(*columns)


def past(pages: Pages, *, never_seen: bool = False) -> Intervals:
    """The intervals that the columns of `pages` count; a visit recorded after them is left out."""
    intervals = pages.intervals(never_seen=never_seen)
    if np.array_equal(np.diff(intervals.start), pages.n_compared):
        return intervals
    return intervals.where(intervals.place < pages.n_compared[intervals.page])


def visits_since(pages: Pages, n_known: IntArray, event: str) -> PastVisits:
    """The visits beyond the first `n_known` of each page, oldest first.

    Those that do not say whether the event happened are left out.
    """
    rows = np.flatnonzero(pages.n_compared != n_known)
    intervals = past(pages.take(rows), never_seen=event == "never-seen-links")
    new = intervals.where(intervals.place >= n_known[rows][intervals.page])
    size = new.changed.astype(np.float64) if event == "change" else new.new_links
    age = (new.at - new.modified) / DAY
    order = np.argsort(new.at, kind="stable")
    visits = PastVisits(rows[new.page], new.at, new.days, size, age)
    return visits.take(order[np.isfinite(size[order])])


def first_ages(pages: Pages) -> FloatArray:
    """Days from the last modification of each page to our first visit, by its Last-Modified.

    NaN where the server did not say, or there was no visit.
    """
    return (pages.first_visit - pages.first_modified()) / DAY


def outcomes(pages: Pages) -> tuple[IntArray, BoolArray]:
    """Where the compared visits of each page start, and whether each showed a change, oldest first.

    Read from `recent`, which is complete for all but pages of more than 64 compared visits.
    """
    start = starts(pages.n_compared)
    changed = np.zeros(start[-1], dtype=np.bool_)
    _unpack(pages.recent, start, changed)
    long = np.flatnonzero(pages.n_compared > RECENT_BITS)
    if long.size:
        whole = past(pages.take(long))
        changed[start[long][whole.page] + whole.place] = whole.changed
    return start, changed


@njit(cache=True)
def _unpack(recent: KeyArray, start: IntArray, changed: BoolArray) -> None:
    for page in range(len(recent)):
        newest = start[page + 1] - 1
        for back in range(min(start[page + 1] - start[page], RECENT_BITS)):
            changed[newest - back] = (recent[page] >> np.uint64(back)) & np.uint64(1)
