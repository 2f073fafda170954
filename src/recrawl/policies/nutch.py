"""Which pages now, by the adaptive schedule of Apache Nutch?

Source: Nutch 1.23-SNAPSHOT (commit 7906941), `AdaptiveFetchSchedule`, `AbstractFetchSchedule` and
`CrawlDbReducer`, with the values of `nutch-default.xml`. The interval I of a page starts at 30
days:

* a change:  I ← (1 − 0.2)·I,  due at the visit + I
* no change: I ← (1 + 0.4)·I, at least δ;  due at the visit − 0.3·δ + I
* a visit that cannot be compared leaves I as it is, or raises it to δ

δ is the time since the change seen last, or since the first visit; I stays from 60 s to 365 days.
An interval above 90 days (`db.fetch.interval.max`) becomes 81 days and the copy is forgotten: the
next visit is one that cannot be compared. A page due in more than 90 days is due at once.

Nutch takes the pages that are due by a score; where all have the same score, the order is left
open. Here the page due first goes first. Nutch computes in 32 bits, so its seconds may differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numba import njit

from recrawl.history.fold import DIFFERS, SAME, UNKNOWN
from recrawl.policies.due import days_overdue, known_visits
from recrawl.policies.stateless import Stateless

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time

#: Share of `db.fetch.interval.max` that an interval above it becomes.
RESET_SHARE = 0.9


class NutchAdaptive(Stateless):
    """Days overdue by Apache Nutch's `AdaptiveFetchSchedule`, with its defaults."""

    name: ClassVar[str] = "nutch-adaptive"

    def __init__(
        self,
        *,
        interval_seconds: float = 2_592_000.0,
        inc_rate: float = 0.4,
        dec_rate: float = 0.2,
        min_seconds: float = 60.0,
        max_seconds: float = 31_536_000.0,
        sync_delta: bool = True,
        sync_delta_rate: float = 0.3,
        db_max_seconds: float = 7_776_000.0,
    ) -> None:
        self.interval_seconds = interval_seconds
        self.inc_rate = inc_rate
        self.dec_rate = dec_rate
        self.min_seconds = min_seconds
        self.max_seconds = max_seconds
        self.sync_delta = sync_delta
        self.sync_delta_rate = sync_delta_rate
        self.db_max_seconds = db_max_seconds

    def score(self, pages: Pages, now: Time) -> FloatArray:
        due = _due_times(
            *known_visits(pages),
            float(self.interval_seconds),
            1.0 + self.inc_rate,
            1.0 - self.dec_rate,
            float(self.min_seconds),
            float(self.max_seconds),
            self.sync_delta,
            float(self.sync_delta_rate),
            float(self.db_max_seconds),
        )
        due[due - now > self.db_max_seconds] = now
        return days_overdue(pages, due, now)


@njit(cache=True)
def _due_times(  # type: ignore[no-untyped-def]
    start,
    at,
    outcome,
    default,
    growth,
    shrinkage,
    least,
    most,
    is_synced,
    sync_rate,
    db_most,
):  # pragma: no cover
    """When each page is due, seconds; NaN without a visit."""
    due = np.full(len(start) - 1, np.nan)
    for page in range(len(due)):
        interval, modified, has_copy = default, np.nan, False
        for i in range(start[page], start[page + 1]):
            state = outcome[i] if has_copy else UNKNOWN
            if state == DIFFERS or np.isnan(modified):
                modified = at[i]
            if state == DIFFERS:
                interval *= shrinkage
            elif state == SAME:
                interval *= growth
            offset = 0.0
            if is_synced:
                delta = at[i] - modified
                if delta > interval:
                    interval = np.floor(delta)
                offset = delta * sync_rate
                if offset > most:  # Nutch divides whole numbers here: 0 for rates below 1
                    offset = np.floor(offset / delta) * most
            interval = min(max(interval, least), most)
            due[page] = at[i] - offset + interval
            interval = np.floor(interval + 0.5)
            has_copy = interval <= db_most
            if not has_copy:
                interval, modified = np.floor(RESET_SHARE * db_most + 0.5), np.nan
    return due
