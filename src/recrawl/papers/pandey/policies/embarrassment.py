"""Which pages now, so that the fewest clicks lead to a page that changed its subject?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.papers.pandey.large_changes import LargeChanges, visits_due
from recrawl.policies.user_centric import SearchAware, by_page

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History


class Embarrassment(SearchAware, LargeChanges):
    """Fewest clicks on copies that were about something else (Wolf et al. 2002)."""

    name: ClassVar[str] = "embarrassment"
    inclusive: ClassVar[bool] = True

    def __init__(
        self,
        *,
        queries: str = "",
        scoring: str = "tfidf",
        tau: float = 0.1,
        visits_per_day: float = 0.0,
    ) -> None:
        self.queries = queries
        self.scoring = scoring
        self.tau = tau
        self.visits_per_day = visits_per_day

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        """Compare the copies that came since, and take in how often pages are viewed."""
        super().learn(history, pages, now)
        self.compare_copies(pages)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        changes = pages.n_changes.astype(np.float64)
        large = self.large_changes(pages)
        part = np.divide(large, changes, out=np.ones(len(pages)), where=changes > 0)
        views = np.ones(len(pages)) if self.impact_ is None else by_page(self.impact_.views, pages)
        return visits_due(pages, changes, part * views, self.visits_per_day, now)
