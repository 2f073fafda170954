"""The fitness of trees: one simulation for all trees that rank pages alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from recrawl.evolve.evaluate import scores
from recrawl.evolve.simplify import simplify
from recrawl.evolve.terminals import TERMINALS, fill_terminals, terminal_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.evolve.expression import Expression
    from recrawl.evolve.fitness import Fitness
    from recrawl.evolve.simulator import Simulator
    from recrawl.model import FloatArray

N_PROBES = 1000  #: states; trees that rank them in the same order are taken as equal


@dataclass(frozen=True, eq=False)
class ScoredTree:
    """A score function and its fitness."""

    expression: Expression
    simple: Expression
    ranking: bytes  #: digest of how it ranks the probes
    by_cycle: FloatArray  #: one row per measure, one column per cycle
    worth: float  #: decides tournaments: fitness less a price for the size

    @property
    def points(self) -> FloatArray:
        """The mean of each measure over the cycles."""
        points: FloatArray = self.by_cycle.mean(axis=1)
        return points

    @property
    def fitness(self) -> float:
        """The mean of the first measure."""
        return float(self.points[0])


@dataclass
class FitnessCache:
    """Gives trees their fitness; simulates only those that rank unlike all before."""

    simulator: Simulator
    measures: Sequence[Fitness]
    parsimony: float = 0.0
    simulated: int = 0  #: simulations so far
    _by_ranking: dict[bytes, FloatArray] = field(default_factory=dict)
    _rankings: dict[object, bytes] = field(default_factory=dict)  #: by form

    def __post_init__(self) -> None:
        self.probes = draw_probes(self.simulator)

    def score(self, expression: Expression) -> ScoredTree:
        """The tree with its fitness, or with that of a tree that ranks the probes alike."""
        simple = simplify(expression)
        ranking = self.ranking(simple)
        if ranking not in self._by_ranking:
            self._by_ranking[ranking] = self._simulate(simple)
        by_cycle = self._by_ranking[ranking]
        return ScoredTree(expression, simple, ranking, by_cycle, self._worth(simple, by_cycle))

    def score_exactly(self, tree: ScoredTree) -> ScoredTree:
        """The tree with the fitness of its own simulation."""
        by_cycle = self._simulate(tree.simple)
        return replace(tree, by_cycle=by_cycle, worth=self._worth(tree.simple, by_cycle))

    def _simulate(self, simple: Expression) -> FloatArray:
        self.simulated += 1
        run = self.simulator.run(simple)
        return np.stack([measure.by_cycle(run) for measure in self.measures])

    def _worth(self, simple: Expression, by_cycle: FloatArray) -> float:
        return float(by_cycle[0].mean()) - self.parsimony * len(simple)

    def ranking(self, simple: Expression) -> bytes:
        """Digest of how a tree ranks the probes: its picks depend on nothing else."""
        form = simple.key()
        if form not in self._rankings:
            rows = np.stack([self.probes[name] for name in simple.terminals])
            _, rank = np.unique(scores(simple, rows), return_inverse=True)
            self._rankings[form] = xxhash.xxh3_128_digest(rank.astype(np.uint16).tobytes())
        return self._rankings[form]


def draw_probes(simulator: Simulator) -> dict[str, FloatArray]:
    """The values of every terminal in random states that pages may reach."""
    random = np.random.default_rng(0)
    now, first = simulator.changes.cycles, simulator.warm_up
    # Most pages are rarely visited, so most probes have few visits.
    more = np.minimum(random.geometric(0.15, N_PROBES), max(now - first - 1, 0))
    n = first + np.where(np.arange(N_PROBES) % 4 == 0, 0, more)
    last = np.minimum(n + random.integers(0, now, N_PROBES), now - 1)
    x = np.minimum((n + 1) * random.random(N_PROBES) ** 2, n).astype(np.int64)
    outcomes = random.permuted(np.arange(64) < x[:, None], axis=1)
    past = (outcomes * (np.uint64(1) << np.arange(64, dtype=np.uint64))).sum(
        axis=1, dtype=np.uint64
    )
    ranks = (x * random.uniform(0, n + 1)).astype(np.int64)
    rows = np.empty((len(TERMINALS), N_PROBES))
    fill_terminals(
        terminal_codes(tuple(TERMINALS)),
        n,
        x,
        last,
        past,
        ranks,
        now,
        simulator.changes.cycle_days,
        rows,
    )
    probes = dict(zip(TERMINALS, rows, strict=True))
    for name, column in (simulator.columns or {}).items():
        probes[name] = random.choice(column.ravel(), N_PROBES)
    return probes
