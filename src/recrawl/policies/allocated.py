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

    from recrawl.model import BoolArray, FloatArray, Pages, Time
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


OBJECTIVES: Final = {
    "cho-freshness": allocate.FRESHNESS,
    "cho-age": allocate.AGE,
    "azar": allocate.MEMORYLESS,
    "lambdacrawl": allocate.HARMONIC,
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
        return self.visits_due(pages, estimator.rate(pages), budget, now)

    def visits_due(self, pages: Pages, rate: FloatArray, budget: float, now: Time) -> FloatArray:
        """Visits that each page should have had since its last one, at so many changes a day."""
        return VISIT_RATES[self.name](rate, budget) * pages.days_since_visit(now, rate)


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


class Polite(Allocated):
    """As `azar`, with at most `host_cap` visits a day to a host (Kolobov et al., SIGIR 2019).

    What a host cannot take goes to the pages of the others. `objective` is what the visits are
    for, by the policy that seeks it without caps. Starves pages that change too fast, except for
    cho-age and lambdacrawl.
    """

    name: ClassVar[str] = "polite"

    def __init__(
        self,
        *,
        host_cap: float = 1000.0,
        objective: str = "azar",
        rate: str = "smoothed",
        visits_per_day: float | None = None,
    ) -> None:
        super().__init__(rate=rate, visits_per_day=visits_per_day)
        self.host_cap = host_cap
        self.objective = objective

    def visits_due(self, pages: Pages, rate: FloatArray, budget: float, now: Time) -> FloatArray:
        if self.objective not in OBJECTIVES:
            raise registry.unknown("objective", self.objective, OBJECTIVES)
        if not self.host_cap > 0.0:
            raise BadInput(
                f"host_cap of {self.name} must be a number of visits a day above 0. "
                f"Got {self.host_cap}; try 1000."
            )
        hosts, host = np.unique(pages.host, return_inverse=True)
        cap = np.full(len(hosts), self.host_cap)
        visits = allocate.within_host_caps(OBJECTIVES[self.objective], rate, budget, host, cap)
        return visits * pages.days_since_visit(now, rate)


class LambdaCrawlSignals(Allocated):
    """As `lambdacrawl`, with the pages whose changes are announced visited only then.

    Kolobov et al., NeurIPS 2019, complete and mixed observations: a page with trusted signals gets
    a visit at a share of its announced changes, the others at their rate; one price serves both.
    Trusted are signals that report at least a share `recall` of the changes of their host.
    """

    name: ClassVar[str] = "lambdacrawl-signals"

    def __init__(
        self,
        *,
        recall: float = 0.9,
        rate: str = "smoothed",
        visits_per_day: float | None = None,
    ) -> None:
        super().__init__(rate=rate, visits_per_day=visits_per_day)
        self.recall = recall

    def visits_due(self, pages: Pages, rate: FloatArray, budget: float, now: Time) -> FloatArray:
        days = pages.days_since_visit(now, rate)
        if pages.signals is None:
            return allocate.harmonic_rates(rate, budget) * days
        trusted = (pages.signals.recall > 0.0) & (pages.signals.recall >= self.recall)
        announced: BoolArray = np.asarray(trusted.any(axis=1))
        changes = np.where(trusted, pages.signals.claims, 0.0).max(axis=1, initial=0.0)
        visits = allocate.mixed_rates(rate, budget, announced)
        return visits * np.where(announced, changes / rate, days)
