"""Which pages now, by the new links that a visit would show?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.auto.online import Online
from recrawl.auto.reasons import reasons
from recrawl.history.intervals import past
from recrawl.newlinks.due import DueLinks, n_links, visible

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History


class Links:
    """New links expected now: those due by a closed form, and those that visits taught to expect.

    Their geometric mean, for they seldom err together; the closed form alone before anything was
    learned. `never_seen` counts only links that no page had held.
    """

    name: ClassVar[str] = "links"
    due_: DueLinks | None = None
    online_: Online | None = None

    def __init__(self, *, never_seen: bool = False, seed: int = 0) -> None:
        self.never_seen = never_seen
        self.seed = seed

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        event = "never-seen-links" if self.never_seen else "links"
        self.online_ = self.online_ or Online(event, self.seed)
        self.online_.learn(history, pages, now)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        self.due_ = self.due_ or DueLinks()
        intervals = past(pages, never_seen=self.never_seen)
        due = self.due_.expected(pages, intervals, now)
        if self.online_ is None:
            return due
        hoped = self.online_.hits(pages, now) * self.online_.optimism(pages)
        learned = visible(hoped * self.online_.size(pages), n_links(intervals))
        return np.sqrt(due * learned)

    def reasons(self, pages: Pages, row: int) -> list[str]:
        """The three strongest, in words."""
        return reasons(self.online_, pages, row) if self.online_ else []
