"""How good is a run of a score function? Change ratio, NDCG, freshness, new links, or a mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.evolve.simulator import Run
    from recrawl.model import FloatArray

MEASURES: Final = ("change-ratio", "ndcg", "freshness", "new-links")


@dataclass(frozen=True)
class Fitness:
    """A weighted sum of measures; each is a number a cycle, of which the mean counts."""

    weights: tuple[tuple[str, float], ...] = (("change-ratio", 1.0),)

    def uses(self, measure: str) -> bool:
        return any(name == measure for name, _ in self.weights)

    def by_cycle(self, run: Run) -> FloatArray:
        total = np.zeros(len(run.changed))
        for name, weight in self.weights:
            total += weight * measured(name, run)
        return total


def fitness(text: str) -> Fitness:
    """From the name of a measure, or `measure=weight,measure=weight`.

    >>> fitness("change-ratio=0.7,freshness=0.3").weights
    (('change-ratio', 0.7), ('freshness', 0.3))
    """
    weights = []
    for part in text.split(","):
        name, equals, weight = (piece.strip() for piece in part.partition("="))
        if name not in MEASURES:
            known = ", ".join(MEASURES)
            raise BadInput(f"A fitness must be of {known}. Got {name!r}; try {MEASURES[0]}.")
        weights.append((name, _weight(weight) if equals else 1.0))
    return Fitness(tuple(weights))


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = np.nan
    if not np.isfinite(weight):
        raise BadInput(f"The weight of a measure must be a number. Got {text!r}; try 0.5.")
    return weight


def measured(name: str, run: Run) -> FloatArray:
    """One measure, cycle by cycle."""
    if name == "change-ratio":
        return run.change_ratio
    if name == "freshness":
        return run.freshness
    return run.ndcg if name == "ndcg" else run.links / max(run.fetches, 1)
