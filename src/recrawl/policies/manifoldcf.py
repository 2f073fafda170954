"""Which pages now, by the dynamic rescan of Apache ManifoldCF?

Source: ManifoldCF trunk (commit 43301b7), `WorkerThread.calculateDocumentRescheduleTime` and
`IncrementalIngester.getIntervals`; the defaults are those of `JobDescription`. A page is due at

    last visit + 1 day + (last change − first visit) / (1 + changes seen)

The last term is its mean time between the copies that it kept. It is 0 for a page never seen to
change, so such a page is due every day, before pages that change. There is no longest interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.model import DAY
from recrawl.policies.due import days_overdue
from recrawl.policies.stateless import Stateless

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time


class ManifoldCFDynamic(Stateless):
    """Days overdue by Apache ManifoldCF's dynamic rescan, with its defaults."""

    name: ClassVar[str] = "manifoldcf-dynamic"

    def __init__(self, *, interval_days: float = 1.0, max_days: float = np.inf) -> None:
        self.interval_days = interval_days
        self.max_days = max_days

    def score(self, pages: Pages, now: Time) -> FloatArray:
        span = np.nan_to_num(pages.last_change - pages.first_visit)
        days = self.interval_days + span / (1 + pages.n_changes) / DAY
        due = pages.last_visit + np.minimum(days, self.max_days) * DAY
        return days_overdue(pages, due, now)
