"""Which pages now, by age times changes seen?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.policies.stateless import Stateless

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time


class Tx(Stateless):
    """t·X, the function that GP4C evolved (Santos 2013); never visits a page not seen to change."""

    name: ClassVar[str] = "tx"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        return pages.days_since_visit(now) * pages.n_changes
