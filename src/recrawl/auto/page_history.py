"""What did the visits to a page itself show: how often, how lately, how densely in time?

A hit is a visit that showed what is looked for: a change, or new links. Times are days.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray

FAST, SLOW = 5.0, 20.0  #: days in which a hit fades to 1/e
LONGEST = 6  #: visits with the same outcome that are counted
NAMES = ("days since a hit", "streak", "hits lately", "hits in a month", "more hits than usual")


@dataclass
class PageHistory:
    """A row a page."""

    first: FloatArray  #: since when it is watched
    last: FloatArray  #: last visit with a known outcome, or since when it is watched
    folded: IntArray  #: compared visits that are in here
    count: FloatArray  #: hits
    events: FloatArray  #: what the hits stand for: a hit after long may be several changes in one
    days: FloatArray  #: in which a hit would have been seen
    size: FloatArray  #: sum over the hits of the logarithm of what they showed
    last_hit: FloatArray  #: NaN: never
    hit_days: FloatArray  #: that the last hit covered
    streak: FloatArray  #: visits with the last outcome: hits above 0, others below
    fast: FloatArray  #: hits, each fading since; as of the last visit
    slow: FloatArray

    @classmethod
    def begin(cls, first: FloatArray) -> Self:
        """Of pages without visits of known outcome."""
        size = len(first)
        found = cls(**{f.name: np.zeros(size) for f in fields(cls)})  # type: ignore[arg-type]
        found.first, found.last = first.copy(), first.copy()
        found.folded, found.hit_days = np.zeros(size, np.int64), np.ones(size)
        found.last_hit = np.full(size, np.nan)
        return found

    def put(self, old: PageHistory, place: IntArray) -> None:
        """Take over what is known of pages, which now are at these rows."""
        for f in fields(self):
            getattr(self, f.name)[place] = getattr(old, f.name)

    def add(
        self,
        page: IntArray,
        end: FloatArray,
        days: FloatArray,
        size: FloatArray,
        events: FloatArray,
    ) -> None:
        """Visits, oldest first: when, how long after the copy before, and what they showed."""
        sums = (self.days, self.count, self.events, self.size)
        lately = (self.last, self.last_hit, self.hit_days, self.streak, self.fast, self.slow)
        _add((page, end, days, size, events), sums, lately)

    def columns(self, page: IntArray, now: FloatArray, rate: FloatArray) -> FloatArray:
        """A row for each of NAMES, a column for each of these pages."""
        last_hit, idle = self.last_hit[page], np.maximum(now - self.last[page], 0.0)
        never = now - self.first[page] + 30.0
        since = np.where(np.isnan(last_hit), never, now - last_hit)
        fast = self.fast[page] * np.exp(-idle / FAST)
        slow = self.slow[page] * np.exp(-idle / SLOW)
        return np.stack(
            [
                np.log1p(np.maximum(since, 0.0)),
                self.streak[page],
                np.log(fast + 0.1),
                np.log(slow + 0.1),
                np.log((slow + 0.02) / (SLOW * rate + 0.02)),
            ]
        )


@njit(cache=True)
def _add(visits, sums, lately):  # type: ignore[no-untyped-def]
    page, end, took, shown, stands_for = visits
    days, count, events, size = sums
    last, last_hit, hit_days, streak, fast, slow = lately
    for i in range(len(page)):
        p = page[i]
        idle = max(end[i] - last[p], 0.0)
        fast[p] *= np.exp(-idle / FAST)
        slow[p] *= np.exp(-idle / SLOW)
        last[p] = end[i]
        days[p] += took[i]
        if shown[i] > 0:
            fast[p] += 1.0
            slow[p] += 1.0
            count[p] += 1.0
            events[p] += stands_for[i]
            size[p] += np.log(shown[i])
            last_hit[p] = end[i]
            hit_days[p] = took[i]
            streak[p] = min(max(streak[p], 0.0) + 1.0, LONGEST)
        else:
            streak[p] = max(min(streak[p], 0.0) - 1.0, -LONGEST)
