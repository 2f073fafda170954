"""Which pages now, by the new links a day that their own visits showed? The paper's baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.history.intervals import past
from recrawl.policies.stateless import Stateless

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Intervals, Pages, Time


class LinksMean(Stateless):
    """New links a day so far × age (NNL-Av, Dang et al. 2021); 0 for a page that showed none."""

    name: ClassVar[str] = "links-mean"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        visits = _link_visits(pages)
        new, days = visits.sums(visits.new_links), visits.sums(visits.days)
        daily = np.divide(new, days, out=np.zeros(len(pages)), where=days > 0)
        return daily * pages.days_since_visit(now)


class LinksLast(Stateless):
    """New links a day at the last visit × age (NNL-Pr, Dang et al. 2021); 0 if it showed none."""

    name: ClassVar[str] = "links-last"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        visits = _link_visits(pages)
        daily = np.zeros(len(pages))
        took = visits.days > 0
        new = visits.new_links[took] / visits.days[took]
        daily[visits.page[took]] = new  # oldest first, so the newest stays
        return daily * pages.days_since_visit(now)


def _link_visits(pages: Pages) -> Intervals:
    intervals = past(pages)
    return intervals.where(np.isfinite(intervals.new_links))
