"""Which pages now, by the chance of a change, from a weighted share of visits that showed one?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.policies.stateless import Stateless
from recrawl.rates.forecast import from_rate
from recrawl.rates.weighted import READINGS, Cycles, named_parts

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time


class AdaptivePolicy(Stateless):
    """φ = 1 − e^{−λt}, t in cycles, λ a reading of `rates.weighted` (Santos 2013).

    As in the paper, a page with λ = 0 scores 0 and is not visited again while others remain.
    """

    name: ClassVar[str]

    def __init__(self, *, cycle_days: float = 1.0) -> None:
        self.cycle_days = cycle_days

    def score(self, pages: Pages, now: Time) -> FloatArray:
        per_cycle = READINGS[self.name](pages, Cycles.at(now, pages, self.cycle_days))
        return from_rate(per_cycle / self.cycle_days, pages.days_since_visit(now)).p_change


#: One class a reading, so that the registry knows each by its name.
globals().update({part.__name__: part for part in named_parts(AdaptivePolicy, READINGS)})
