"""Which pages now, by the new links that a visit would show?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.auto.model import HitModel
from recrawl.auto.reasons import reasons
from recrawl.history.intervals import past
from recrawl.newlinks.due import DueLinks, n_links, visible

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History


class Links:
    """New links expected now: the geometric mean of a closed form and of the model behind `auto`.

    The two seldom err together. Before anything is learned the closed form is used alone.
    `never_seen` counts only links that no page had held.
    """

    name: ClassVar[str] = "links"
    due_: DueLinks | None = None
    model_: HitModel | None = None

    def __init__(self, *, never_seen: bool = False, seed: int = 0) -> None:
        self.never_seen = never_seen
        self.seed = seed

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        event = "never-seen-links" if self.never_seen else "links"
        self.model_ = self.model_ or HitModel(event, self.seed)
        self.model_.learn(history, pages, now)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        self.due_ = self.due_ or DueLinks()
        intervals = past(pages, never_seen=self.never_seen)
        due = self.due_.expected(pages, intervals, now)
        if self.model_ is None:
            return due
        hits = self.model_.hits_due(pages, now) * self.model_.optimism(pages)
        learned = visible(hits * self.model_.hit_size(pages), n_links(intervals))
        return np.sqrt(due * learned)

    def reasons(self, pages: Pages, row: int) -> list[str]:
        """The strongest reasons for or against a visit, in words; at most three."""
        return reasons(self.model_, pages, row) if self.model_ else []
