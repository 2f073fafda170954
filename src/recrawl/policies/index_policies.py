"""Policies that rank by one index of `indices.py`, at an estimated change rate.

`--objective` does not choose these but `auto` with that objective: see `planner/policy.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl import registry
from recrawl.errors import BadInput
from recrawl.policies.indices import HALF_LIFE_DAYS, INDICES, ephemeral
from recrawl.policies.noisy_signals import noisy_freshness
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
        rate = self._rates(pages)
        return INDICES[self.name](rate, pages.days_since_visit(now, rate))

    def _rates(self, pages: Pages) -> FloatArray:
        estimator: Rate = registry.make("rate", self.rate)
        return estimator.rate(pages)


class ChangeRatio(ObjectivePolicy):
    """Most changes found per fetch."""

    name: ClassVar[str] = "change-ratio"


class Freshness(ObjectivePolicy):
    """Most copies up to date; with signals, GREEDY-NCIS (Busa-Fekete et al. 2025)."""

    name: ClassVar[str] = "freshness"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        if pages.signals is None:
            return super().score(pages, now)
        return noisy_freshness(self._rates(pages), pages.copy_age(now), pages.signals)


class Age(ObjectivePolicy):
    """Least time since a copy went out of date."""

    name: ClassVar[str] = "age"


class Harmonic(ObjectivePolicy):
    """Fewest missed changes, the first of a copy counting most (Kolobov et al. 2019)."""

    name: ClassVar[str] = "harmonic"


class Ephemeral(ObjectivePolicy):
    """Most worth of new content, which halves in `half_life` days (Lefortier et al. 2013).

    A page never visited is itself new content: it is worth most when it was just found. One score
    for both splits the budget between new pages and pages seen before.
    """

    name: ClassVar[str] = "ephemeral"

    def __init__(self, *, rate: str = "smoothed", half_life: float = HALF_LIFE_DAYS) -> None:
        super().__init__(rate=rate)
        self.half_life = half_life

    def score(self, pages: Pages, now: Time) -> FloatArray:
        if not 0.0 < self.half_life < np.inf:
            raise BadInput(
                f"half_life of {self.name} must be a number of days above 0. "
                f"Got {self.half_life}; try {HALF_LIFE_DAYS}."
            )
        rate, days = self._rates(pages), np.maximum(pages.copy_age(now), 1e-9)
        due = rate * pages.days_since_visit(now, rate)
        known = ephemeral(due / days, days, self.half_life)
        return np.where(pages.n_visits == 0, 0.5 ** (days / self.half_life), known)
