"""Which pages now, by the adaptive scheduler of Apache StormCrawler?

Source: StormCrawler 3.4.1-SNAPSHOT (commit 384e98c), `AdaptiveScheduler` and `DefaultScheduler`.
The interval I of a page is in whole minutes, rounded down. A visit that cannot be compared, as the
first, sets it to 1440:

* a change:  I ← (1 − 0.5)·I + 0.5·60
* no change: I ← (1 + 0.5)·I, at most 20160, which is two weeks

A page is due I minutes after its visit, and the page due first goes first (`nextFetchDate`). In
StormCrawler a failed visit also makes it forget I; the history keeps no such trace of old failures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numba import njit

from recrawl.history.fold import DIFFERS, SAME
from recrawl.policies.due import days_overdue, known_visits
from recrawl.policies.stateless import Stateless

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time

MINUTE = 60.0  #: seconds


class StormCrawlerAdaptive(Stateless):
    """Days overdue by Apache StormCrawler's `AdaptiveScheduler`, with its defaults."""

    name: ClassVar[str] = "stormcrawler-adaptive"

    def __init__(
        self,
        *,
        interval_minutes: float = 1440.0,
        min_minutes: float = 60.0,
        max_minutes: float = 20_160.0,
        incr_rate: float = 0.5,
        decr_rate: float = 0.5,
    ) -> None:
        self.interval_minutes = interval_minutes
        self.min_minutes = min_minutes
        self.max_minutes = max_minutes
        self.incr_rate = incr_rate
        self.decr_rate = decr_rate

    def score(self, pages: Pages, now: Time) -> FloatArray:
        due = _due_times(
            *known_visits(pages),
            float(self.interval_minutes),
            float(self.min_minutes),
            float(self.max_minutes),
            float(self.incr_rate),
            float(self.decr_rate),
        )
        return days_overdue(pages, due, now)


@njit(cache=True)
def _due_times(  # type: ignore[no-untyped-def]
    start, at, outcome, default, least, most, incr_rate, decr_rate
):  # pragma: no cover
    """When each page is due, seconds; NaN without a visit."""
    due = np.full(len(start) - 1, np.nan)
    for page in range(len(due)):
        interval = default
        for i in range(start[page], start[page + 1]):
            if outcome[i] == DIFFERS:
                interval = np.floor((1.0 - decr_rate) * interval + decr_rate * least)
            elif outcome[i] == SAME:
                interval = min(np.floor(interval * (1.0 + incr_rate)), most)
            else:
                interval = default
            due[page] = at[i] + interval * MINUTE
    return due
