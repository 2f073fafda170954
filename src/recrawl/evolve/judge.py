"""How fit is a tree? Simulated once for all trees that are the same, or that rank alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from recrawl.evolve.evaluate import scores
from recrawl.evolve.simplify import simplify
from recrawl.evolve.states import fill, kinds
from recrawl.evolve.terminals import TERMINALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.evolve.expression import Expression
    from recrawl.evolve.fitness import Fitness
    from recrawl.evolve.simulator import Simulator
    from recrawl.model import FloatArray

PROBES = 1000  #: states, about the order of which trees that rank alike agree


@dataclass(frozen=True, eq=False)
class Tree:
    """A score function with what is known of it."""

    expression: Expression
    simple: Expression
    behaviour: bytes  #: equal for trees that rank the probes alike
    by_cycle: FloatArray  #: a row a measure, a column a cycle
    worth: float  #: by which it is chosen: its fitness, less what its size costs

    @property
    def points(self) -> FloatArray:
        """By each measure."""
        points: FloatArray = self.by_cycle.mean(axis=1)
        return points

    @property
    def fitness(self) -> float:
        """By the first measure."""
        return float(self.points[0])


@dataclass
class Judge:
    """Gives trees their fitness, and remembers it."""

    simulator: Simulator
    measures: Sequence[Fitness]
    parsimony: float = 0.0
    simulated: int = 0  #: simulations so far
    _known: dict[bytes, FloatArray] = field(default_factory=dict)
    _forms: dict[object, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.probes = probes(self.simulator)

    def tree(self, expression: Expression) -> Tree:
        """The tree with its fitness, or with that of one that ranks the probes alike."""
        simple = simplify(expression)
        behaviour = self.behaviour(simple)
        if behaviour not in self._known:
            self._known[behaviour] = self._simulated(simple)
        by_cycle = self._known[behaviour]
        return Tree(expression, simple, behaviour, by_cycle, self._worth(simple, by_cycle))

    def exact(self, tree: Tree) -> Tree:
        """The tree simulated for itself."""
        by_cycle = self._simulated(tree.simple)
        return replace(tree, by_cycle=by_cycle, worth=self._worth(tree.simple, by_cycle))

    def _simulated(self, simple: Expression) -> FloatArray:
        self.simulated += 1
        run = self.simulator.run(simple)
        return np.stack([measure.by_cycle(run) for measure in self.measures])

    def _worth(self, simple: Expression, by_cycle: FloatArray) -> float:
        return float(by_cycle[0].mean()) - self.parsimony * len(simple)

    def behaviour(self, simple: Expression) -> bytes:
        """How a tree ranks the probes: all that its picks depend on."""
        form = simple.key()
        if form not in self._forms:
            rows = np.stack([self.probes[name] for name in simple.terminals])
            _, rank = np.unique(scores(simple, rows), return_inverse=True)
            self._forms[form] = xxhash.xxh3_128_digest(rank.astype(np.uint16).tobytes())
        return self._forms[form]


def probes(simulator: Simulator) -> dict[str, FloatArray]:
    """Values of every terminal for some states that pages may come to, drawn once for all."""
    random = np.random.default_rng(0)
    now, first = simulator.changes.cycles, simulator.warm_up
    # Most pages are seldom visited, so small numbers of visits are probed most.
    more = np.minimum(random.geometric(0.15, PROBES), max(now - first - 1, 0))
    n = first + np.where(np.arange(PROBES) % 4 == 0, 0, more)
    last = np.minimum(n + random.integers(0, now, PROBES), now - 1)
    x = np.minimum((n + 1) * random.random(PROBES) ** 2, n).astype(np.int64)
    outcomes = random.permuted(np.arange(64) < x[:, None], axis=1)
    past = (outcomes * (np.uint64(1) << np.arange(64, dtype=np.uint64))).sum(
        axis=1, dtype=np.uint64
    )
    ranks = (x * random.uniform(0, n + 1)).astype(np.int64)
    rows = np.empty((len(TERMINALS), PROBES))
    fill(kinds(tuple(TERMINALS)), n, x, last, past, ranks, now, simulator.changes.cycle_days, rows)
    found = dict(zip(TERMINALS, rows, strict=True))
    for name, column in (simulator.columns or {}).items():
        found[name] = random.choice(column, PROBES)
    return found
