"""Fitness of a simulated run: change ratio, NCG, NDCG, freshness, new links, or a weighted sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.evolve.simulator import SimulationRun
    from recrawl.model import FloatArray

MEASURES: Final = ("change-ratio", "ncg", "ndcg", "freshness", "new-links")


@dataclass(frozen=True)
class Fitness:
    """A weighted sum of measures; the fitness of a run is its mean over the cycles."""

    weights: tuple[tuple[str, float], ...] = (("change-ratio", 1.0),)

    def uses(self, measure: str) -> bool:
        return any(name == measure for name, _ in self.weights)

    def by_cycle(self, run: SimulationRun) -> FloatArray:
        """The weighted sum in each cycle."""
        total = np.zeros(len(run.changed))
        for name, weight in self.weights:
            total += weight * _by_cycle(name, run)
        return total


def parse_fitness(text: str) -> Fitness:
    """The fitness written as a measure, or as `measure=weight,measure=weight`.

    >>> parse_fitness("change-ratio=0.7,freshness=0.3").weights
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


def _by_cycle(name: str, run: SimulationRun) -> FloatArray:
    if name == "change-ratio":
        return run.change_ratio
    if name == "ncg":
        return run.ncg
    if name == "freshness":
        return run.freshness
    return run.ndcg if name == "ndcg" else run.links / max(run.fetches, 1)
