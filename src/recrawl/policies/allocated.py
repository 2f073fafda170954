"""Which pages now, if each page is visited at the rate that is best in the long run?

A page visited f times a day is due when f × days since its visit reaches 1. That product is its
score: ranking by it spaces the visits to each page evenly. The visit rates are optimal for one
objective, given the pages' change rates (`rate` names how they are estimated).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from recrawl import allocate, registry
from recrawl.errors import BadInput
from recrawl.policies.stateless import Stateless

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import Rate

#: Share of the pages visited a day if `visits_per_day` is not given. Scores must not depend on the
#: budget of the plan; with this share, every page has a visit in 20 days.
DAILY_SHARE: Final = 0.05

VISIT_RATES: Final[dict[str, Callable[[FloatArray, float], FloatArray]]] = {
    "cho-freshness": allocate.freshness_rates,
    "cho-age": allocate.age_rates,
    "azar": allocate.memoryless_rates,
    "lambdacrawl": allocate.harmonic_rates,
}


class Allocated(Stateless):
    """Days since the last visit × optimal visits a day.

    `visits_per_day` is the budget of all pages together. It decides which pages are worth visiting
    at all, so it should be close to what the plans spend.
    """

    name: ClassVar[str]

    def __init__(self, *, rate: str = "smoothed", visits_per_day: float | None = None) -> None:
        self.rate = rate
        self.visits_per_day = visits_per_day

    def score(self, pages: Pages, now: Time) -> FloatArray:
        budget = DAILY_SHARE * len(pages) if self.visits_per_day is None else self.visits_per_day
        if self.visits_per_day is not None and not 0.0 < budget < np.inf:
            raise BadInput(
                f"visits_per_day of {self.name} must be finite and above 0. Got {budget} instead; "
                f"leave it out for {DAILY_SHARE:.0%} of the pages."
            )
        if not len(pages):
            return np.zeros(0)
        estimator: Rate = registry.make("rate", self.rate)
        return VISIT_RATES[self.name](estimator.rate(pages), budget) * pages.days_since_visit(now)


class ChoFreshness(Allocated):
    """Most copies up to date (Cho & Garcia-Molina 2003). Starves pages that change too fast."""

    name: ClassVar[str] = "cho-freshness"


class ChoAge(Allocated):
    """Least time since copies went out of date (Cho & Garcia-Molina 2003). Visits every page."""

    name: ClassVar[str] = "cho-age"


class Azar(Allocated):
    """Most copies up to date, visits at random times (Azar et al. 2018). Starves such pages too."""

    name: ClassVar[str] = "azar"


class LambdaCrawl(Allocated):
    """Fewest missed changes, the first counting most (Kolobov et al. 2019). Visits every page."""

    name: ClassVar[str] = "lambdacrawl"
