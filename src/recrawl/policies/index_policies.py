"""Policies that rank by one index of `indices.py`, at an estimated change rate.

`--objective` does not choose these but `auto` with that objective: see `planner/policy.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl import registry
from recrawl.policies.indices import INDICES
from recrawl.policies.stateless import Stateless

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import Rate


class ObjectivePolicy(Stateless):
    """An index at an estimated change rate; `rate` names how it is estimated."""

    name: ClassVar[str]

    def __init__(self, *, rate: str = "smoothed") -> None:
        self.rate = rate

    def score(self, pages: Pages, now: Time) -> FloatArray:
        estimator: Rate = registry.make("rate", self.rate)
        return INDICES[self.name](estimator.rate(pages), pages.days_since_visit(now))


class ChangeRatio(ObjectivePolicy):
    """Most changes found per fetch."""

    name: ClassVar[str] = "change-ratio"


class Freshness(ObjectivePolicy):
    """Most copies up to date."""

    name: ClassVar[str] = "freshness"


class Age(ObjectivePolicy):
    """Least time since a copy went out of date."""

    name: ClassVar[str] = "age"


class Harmonic(ObjectivePolicy):
    """Fewest missed changes, the first of a copy counting most (Kolobov et al. 2019)."""

    name: ClassVar[str] = "harmonic"
