"""Which visits of known outcome are new, and what did they show?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.history.intervals import owners, past
from recrawl.model import DAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.model import BoolArray, FloatArray, IntArray, Intervals, Pages, Time

#: What a hit is: a change, new links, or links that no page had held.
EVENTS = ("change", "links", "never-seen-links")
EDGE = 0.01  #: days: visits just after midnight speak of the day before


@dataclass(frozen=True)
class Visits:
    """A row a visit, oldest first. Times are days."""

    page: IntArray  #: row of the page
    end: FloatArray  #: when it was
    days: FloatArray  #: since the copy before
    size: FloatArray  #: 1 for a change, or the number of new links; 0 for none

    @property
    def hit(self) -> BoolArray:
        return self.size > 0

    def __len__(self) -> int:
        return len(self.page)

    def take(self, rows: IntArray | slice) -> Visits:
        return Visits(self.page[rows], self.end[rows], self.days[rows], self.size[rows])

    def by_day(self) -> Iterator[Visits]:
        """Those of one day at a time."""
        cuts = np.flatnonzero(np.diff(day_of(self.end), prepend=-np.inf))
        for begin, end in zip(cuts, [*cuts[1:], len(self)], strict=False):
            yield self.take(slice(begin, end))


def day_of(at: FloatArray) -> FloatArray:
    """The day that a visit at a time ends."""
    return np.floor(at - EDGE)


def day_at(now: Time) -> int:
    """The day that is today."""
    return int(day_of(np.array(now / DAY)))


def new_visits(pages: Pages, folded: IntArray, event: str) -> Visits:
    """The visits to pages beyond the first `folded` of each."""
    rows = np.flatnonzero(pages.n_compared != folded)
    found = past(pages.take(rows), never_seen=event == "never-seen-links")
    page = owners(found.start)
    late = np.arange(len(page)) - found.start[page] >= folded[rows][page]
    size = _size(found, event)
    keep = np.flatnonzero(late & np.isfinite(size))
    seen = Visits(rows[page], found.at / DAY, found.days, size).take(keep)
    return seen.take(np.argsort(seen.end, kind="stable"))


def _size(found: Intervals, event: str) -> FloatArray:
    if event == "change":
        return found.changed.astype(np.float64)
    return found.new_internal + found.new_external
