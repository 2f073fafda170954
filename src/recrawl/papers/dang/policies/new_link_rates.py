"""Which pages now, by the new links a day that their own visits showed? The paper's baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.newlinks.visits import shown
from recrawl.policies.unlearned import Unlearned

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time


class LinksMean(Unlearned):
    """New links a day so far × age (NNL-Av, Dang et al. 2021); 0 for a page that showed none."""

    name: ClassVar[str] = "links-mean"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        past = shown(pages)
        days = past.over_page(past.days)
        daily = np.divide(past.over_page(past.new), days, out=np.zeros(len(pages)), where=days > 0)
        return daily * pages.days_since_visit(now)


class LinksLast(Unlearned):
    """New links a day at the last visit × age (NNL-Pr, Dang et al. 2021); 0 if it showed none."""

    name: ClassVar[str] = "links-last"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        past = shown(pages)
        daily = np.zeros(len(pages))
        took = past.days > 0
        daily[past.page[took]] = past.new[took] / past.days[took]  # the newest stays
        return daily * pages.days_since_visit(now)
