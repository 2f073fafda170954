"""Which pages now, by the changes expected since the last visit? Starves no page."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.policies.unlearned import Unlearned
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time


class Poisson(Unlearned):
    """Smoothed rate × age: `tx` that also returns to pages not yet seen to change."""

    name: ClassVar[str] = "poisson"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        return smoothed(pages) * pages.days_since_visit(now)
