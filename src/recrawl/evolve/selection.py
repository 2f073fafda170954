"""Which of the best trees is to be used? Best, Sum_σ or Avg_σ (Santos 2013), or the simplest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recrawl.evolve.expression import Expression
    from recrawl.evolve.fitness import Fitness
    from recrawl.evolve.judge import Tree
    from recrawl.evolve.simulator import Simulator
    from recrawl.model import FloatArray


@dataclass(frozen=True, eq=False)
class Validated:
    """A score function with its fitness in each cycle of training and of validation."""

    expression: Expression
    train: FloatArray
    validation: FloatArray
    worth: float  #: fitness in training, less what its size costs

    @property
    def spread(self) -> float:
        """σ over all cycles of both, as the text says; GP4C's code forgets to divide by them."""
        return float(np.concatenate([self.train, self.validation]).std())


def validated(trees: Sequence[Tree], simulator: Simulator, measure: Fitness) -> list[Validated]:
    """The trees with what they find on pages they were not bred for."""
    return [
        Validated(
            tree.simple, tree.by_cycle[0], measure.by_cycle(simulator.run(tree.simple)), tree.worth
        )
        for tree in trees
    ]


def _sum(tree: Validated) -> float:
    return float(tree.train.mean() + tree.validation.mean()) - tree.spread


def _average(tree: Validated) -> float:
    return float(tree.train.mean() + tree.validation.mean()) / 2 - tree.spread


METHODS: Final[dict[str, Callable[[Validated], float]]] = {
    "best": lambda tree: tree.worth,
    "sum": _sum,
    "avg": _average,
}
SELECTIONS: Final = (*METHODS, "simple")


def selected(trees: Sequence[Validated], method: str = "best") -> Validated:
    """The one to use; of equals the shortest.

    `simple`: the shortest that is no worse than the best by more than a standard error, for the
    difference may be chance, and what is short holds better on other pages and later days.
    """
    if method == "simple":
        leader = selected(trees)
        return min(
            (tree for tree in trees if _no_worse(tree, leader)),
            key=lambda tree: (len(tree.expression), -tree.worth),
        )
    value = METHODS[method]
    return min(trees, key=lambda tree: (-value(tree), len(tree.expression)))


def _no_worse(tree: Validated, leader: Validated) -> bool:
    gap = np.concatenate([leader.train - tree.train, leader.validation - tree.validation])
    return bool(gap.mean() <= gap.std() / np.sqrt(len(gap)))


def front(points: FloatArray) -> list[int]:
    """Rows that no other row beats in one column without losing in another, by the first column.

    >>> front(np.array([[3.0, 1.0], [2.0, 2.0], [2.0, 1.0], [1.0, 3.0]]))
    [0, 1, 3]
    """
    order = np.lexsort(-points.T[::-1])
    kept: list[int] = []
    for row in order.tolist():
        if not kept or points[row, 1] > points[kept[-1], 1]:
            kept.append(row)
    return kept
