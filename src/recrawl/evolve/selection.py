"""Selects one of the best trees: Best, Sum_σ or Avg_σ (Santos 2013), or the simplest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recrawl.evolve.expression import Expression
    from recrawl.evolve.fitness import Fitness
    from recrawl.evolve.fitness_cache import ScoredTree
    from recrawl.evolve.simulator import Simulator
    from recrawl.model import FloatArray


@dataclass(frozen=True, eq=False)
class ValidatedTree:
    """A score function with its fitness in each cycle of training and validation."""

    expression: Expression
    train: FloatArray
    validation: FloatArray
    worth: float  #: fitness in training, less a price for the size

    @property
    def spread(self) -> float:
        """σ over all cycles of both, as in the text; GP4C's code does not divide by the number."""
        return float(np.concatenate([self.train, self.validation]).std())


def validate(
    trees: Sequence[ScoredTree], simulator: Simulator, measure: Fitness
) -> list[ValidatedTree]:
    """The trees with their fitness on pages that did not breed them."""
    return [
        ValidatedTree(
            tree.simple, tree.by_cycle[0], measure.by_cycle(simulator.run(tree.simple)), tree.worth
        )
        for tree in trees
    ]


def _sum_score(tree: ValidatedTree) -> float:
    return float(tree.train.mean() + tree.validation.mean()) - tree.spread


def _avg_score(tree: ValidatedTree) -> float:
    return float(tree.train.mean() + tree.validation.mean()) / 2 - tree.spread


METHODS: Final[dict[str, Callable[[ValidatedTree], float]]] = {
    "best": lambda tree: tree.worth,
    "sum": _sum_score,
    "avg": _avg_score,
}
SELECTIONS: Final = (*METHODS, "simple")


def select_tree(trees: Sequence[ValidatedTree], method: str = "best") -> ValidatedTree:
    """The tree to use; among equals the shortest.

    `simple` is the shortest tree that is worse than the best by at most a standard error: the
    difference may be chance, and short formulas hold up better on other pages and later days.
    """
    if method == "simple":
        leader = select_tree(trees)
        return min(
            (tree for tree in trees if _as_good(tree, leader)),
            key=lambda tree: (len(tree.expression), -tree.worth),
        )
    value = METHODS[method]
    return min(trees, key=lambda tree: (-value(tree), len(tree.expression)))


def _as_good(tree: ValidatedTree, leader: ValidatedTree) -> bool:
    gap = np.concatenate([leader.train - tree.train, leader.validation - tree.validation])
    return bool(gap.mean() <= gap.std() / np.sqrt(len(gap)))


def pareto_front(points: FloatArray) -> list[int]:
    """Rows that no other row beats in one column without losing in the other, best first.

    >>> pareto_front(np.array([[3.0, 1.0], [2.0, 2.0], [2.0, 1.0], [1.0, 3.0]]))
    [0, 1, 3]
    """
    order = np.lexsort(-points.T[::-1])
    kept: list[int] = []
    for row in order.tolist():
        if not kept or points[row, 1] > points[kept[-1], 1]:
            kept.append(row)
    return kept
