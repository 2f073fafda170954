"""What did past visits to a page show: how many hits, how recent, how dense in time?

A hit is a visit that showed the event looked for: a change, or new links. Times are days.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from recrawl.page.kernels import kernel

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray

FAST_DAYS, SLOW_DAYS = 5.0, 20.0  #: in which a hit decays to 1/e
MAX_STREAK = 6  #: visits with the same outcome that are counted
NAMES = ("days since a hit", "streak", "hits lately", "hits in a month", "more hits than usual")


@dataclass
class PageHistory:
    """One row per page."""

    first: FloatArray  #: day when tracking starts
    last: FloatArray  #: last visit with a known outcome, or `first`
    n_visits: IntArray  #: compared visits that are in here
    n_hits: FloatArray
    events: FloatArray  #: events behind the hits: a hit after a long time may be several in one
    days: FloatArray  #: in which a hit would have been seen
    log_size: FloatArray  #: sum over the hits of the logarithm of their size
    last_hit: FloatArray  #: the latest day on which the last hit may have happened; NaN: never
    hit_days: FloatArray  #: length of the interval in which it happened
    streak: FloatArray  #: visits with the last outcome: above 0 for hits, below 0 for others
    fast: FloatArray  #: hits with FAST_DAYS of decay, as of the last visit
    slow: FloatArray  #: hits with SLOW_DAYS of decay

    @classmethod
    def empty(cls, first: FloatArray) -> Self:
        """Pages without a visit of known outcome, tracked from the day `first`."""
        n_pages = len(first)
        history = cls(**{f.name: np.zeros(n_pages) for f in fields(cls)})  # type: ignore[arg-type]
        history.first, history.last = first.copy(), first.copy()
        history.n_visits, history.hit_days = np.zeros(n_pages, np.int64), np.ones(n_pages)
        history.last_hit = np.full(n_pages, np.nan)
        return history

    def take_over(self, old: PageHistory, new_row: IntArray) -> None:
        """Take over what is known of other pages, which are at these rows here."""
        for f in fields(self):
            getattr(self, f.name)[new_row] = getattr(old, f.name)

    def add_visits(
        self,
        page: IntArray,
        end: FloatArray,
        days: FloatArray,
        size: FloatArray,
        events: FloatArray,
        between: tuple[FloatArray, FloatArray],
    ) -> None:
        """Add visits, oldest first: day, days observed, size of the hit, events.

        A hit happened `between` two days.
        """
        sums = (self.days, self.n_hits, self.events, self.log_size)
        recent = (self.last, self.last_hit, self.hit_days, self.streak, self.fast, self.slow)
        _add_visits((page, end, days, size, events, *between), sums, recent)

    def columns(self, page: IntArray, now: FloatArray, rate: FloatArray) -> FloatArray:
        """A row for each of NAMES, a column for each of these pages."""
        last_hit, idle = self.last_hit[page], np.maximum(now - self.last[page], 0.0)
        never = now - self.first[page] + 30.0
        since = np.where(np.isnan(last_hit), never, now - last_hit)
        fast = self.fast[page] * np.exp(-idle / FAST_DAYS)
        slow = self.slow[page] * np.exp(-idle / SLOW_DAYS)
        return np.stack(
            [
                np.log1p(np.maximum(since, 0.0)),
                self.streak[page],
                np.log(fast + 0.1),
                np.log(slow + 0.1),
                np.log((slow + 0.02) / (SLOW_DAYS * rate + 0.02)),
            ]
        )


@kernel
def _add_visits(visits, sums, recent):  # type: ignore[no-untyped-def]
    page, end, visit_days, size, visit_events, since, until = visits
    days, n_hits, events, log_size = sums
    last, last_hit, hit_days, streak, fast, slow = recent
    for i in range(len(page)):
        p = page[i]
        idle = max(end[i] - last[p], 0.0)
        fast[p] *= np.exp(-idle / FAST_DAYS)
        slow[p] *= np.exp(-idle / SLOW_DAYS)
        last[p] = end[i]
        days[p] += visit_days[i]
        if size[i] > 0:
            fast[p] += 1.0
            slow[p] += 1.0
            n_hits[p] += 1.0
            events[p] += visit_events[i]
            log_size[p] += np.log(size[i])
            last_hit[p] = until[i]
            hit_days[p] = until[i] - since[i]
            streak[p] = min(max(streak[p], 0.0) + 1.0, MAX_STREAK)
        else:
            streak[p] = max(min(streak[p], 0.0) - 1.0, -MAX_STREAK)
