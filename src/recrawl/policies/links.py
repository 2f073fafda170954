"""Which pages now, by the new links that a visit would show?"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.features.shown import shown
from recrawl.forecast.links.boosted import BoostedLinks
from recrawl.forecast.links.due import DueLinks
from recrawl.policies.unlearned import Unlearned

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History


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


class Links:
    """New links expected now, of those due by a closed form and those learned from visits.

    The geometric mean of the two, which seldom err together; the closed form alone while too few
    visits have shown new links, and where the extra `boost` is not installed. `never_seen` counts
    only links that no page had held.
    """

    name: ClassVar[str] = "links"
    due_: DueLinks | None = None
    boosted_: BoostedLinks | None = None

    def __init__(self, *, never_seen: bool = False, seed: int = 0) -> None:
        self.never_seen = never_seen
        self.seed = seed

    def learn(self, history: History, now: Time) -> None:
        if find_spec("lightgbm"):
            self.boosted_ = self.boosted_ or BoostedLinks(self.seed, self.never_seen)
            self.boosted_.learn(history.pages(), now)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        self.due_ = self.due_ or DueLinks(self.never_seen)
        due = self.due_.expected(pages, now)
        learned = self.boosted_.expected(pages, now) if self.boosted_ else None
        return due if learned is None else np.sqrt(due * learned)
