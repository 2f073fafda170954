"""Which pages now, so that the fewest copies are stale?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.papers.pandey.large_changes import LargeChanges, visits_due

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History


class Staleness(LargeChanges):
    """Fewest stale copies, ignoring small changes of texts (Pandey & Olston 2005 after Cho)."""

    name: ClassVar[str] = "staleness"
    inclusive: ClassVar[bool] = False

    def __init__(self, *, tau: float = 0.1, visits_per_day: float = 0.0) -> None:
        self.tau = tau
        self.visits_per_day = visits_per_day

    def learn(self, history: History, pages: Pages, now: Time) -> None:  # noqa: ARG002
        """Compare the copies that came since."""
        self.compare_copies(pages)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        changes, weight = self.large_changes(pages), np.ones(len(pages))
        return visits_due(pages, changes, weight, self.visits_per_day, now)
