"""Which pages now, by the changes expected since the last visit? No page is left out for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.policies.stateless import Stateless
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time


class Poisson(Stateless):
    """Smoothed rate × age: `tx` that also returns to pages not yet seen to change."""

    name: ClassVar[str] = "poisson"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        return smoothed(pages) * pages.days_since_visit(now)
