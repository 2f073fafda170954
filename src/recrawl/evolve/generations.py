"""Breeds generations of trees and keeps the best of them all (GP4C)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from recrawl.evolve.fitness_cache import FitnessCache, ScoredTree
from recrawl.evolve.selection import pareto_front
from recrawl.evolve.terminals import TERMINALS
from recrawl.evolve.text import parse, write
from recrawl.evolve.trees import Symbols, cross, ramped_trees, random_tree, shrink, swap_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from recrawl.evolve.expression import Expression
    from recrawl.evolve.fitness import Fitness
    from recrawl.evolve.presets import Preset
    from recrawl.evolve.simulator import Simulator
    from recrawl.model import FloatArray

    #: Called after each generation with its number, the number of all, and the best tree so far.
    Progress = Callable[[int, int, ScoredTree], None]

MAX_BREEDINGS = 5  #: tries to breed a tree that ranks unlike all others of its generation


@dataclass(frozen=True)
class EvolutionRun:
    """The result of an evolution."""

    kept: list[ScoredTree]  #: the best of all generations and the known formulas, best first
    history: FloatArray  #: best and mean fitness by generation, starting with the random one
    simulated: int


def evolve(
    simulator: Simulator,
    terminals: tuple[str, ...],
    measures: Sequence[Fitness],
    preset: Preset,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> EvolutionRun:
    """Breed score functions that do well in a simulation; the same seed gives the same result.

    With two measures, the result is their Pareto front: trees that no other tree beats in one
    measure without losing in the other.
    """
    cache = FitnessCache(simulator, measures, preset.parsimony)
    random = Random(seed)  # noqa: S311 not used for security
    symbols = Symbols(terminals, preset.constants, real=preset.real)
    breeder = Breeder(random, symbols, preset, cache)
    trees = ranked(breeder.first())
    kept, history = best(trees, preset.kept), [_summary(trees)]
    better, reached = 0, achievement(kept)  # generation and value of the last improvement
    for generation in range(1, preset.generations + 1):
        trees = ranked(breeder.next(trees))
        kept = best(ranked([*kept, *trees]), preset.kept)
        history.append(_summary(trees))
        if achievement(kept) > reached:
            better, reached = generation, achievement(kept)
        if progress is not None:
            progress(generation, preset.generations, kept[0])
        if preset.patience is not None and generation - better >= preset.patience:
            break
    # Each is simulated itself, so that reported numbers do not depend on the probes.
    known = [tree for tree in breeder.known() if tree.simple not in {k.simple for k in kept}]
    final = ranked([cache.score_exactly(tree) for tree in (*kept, *known)])
    final = best(final, len(final))
    if len(measures) > 1:
        final = [final[row] for row in pareto_front(np.array([tree.points for tree in final]))]
    return EvolutionRun(final, np.array(history), cache.simulated)


def best(trees: Iterable[ScoredTree], count: int) -> list[ScoredTree]:
    """The best trees of different form, best first; among equals the shortest."""
    different = {tree.simple.key(): tree for tree in trees}
    order = sorted(different.values(), key=lambda t: (-t.worth, len(t.simple), t.simple.key()))
    return order[:count]


def ranked(trees: list[ScoredTree]) -> list[ScoredTree]:
    """With two measures, a tree's worth is minus the number of trees that beat it."""
    points = np.array([tree.points for tree in trees])
    if points.shape[1] == 1:
        return trees
    no_worse = (points[:, None] >= points).all(axis=2)
    beaten = (no_worse & ~no_worse.T).sum(axis=0)
    return [replace(tree, worth=-float(by)) for tree, by in zip(trees, beaten, strict=True)]


def achievement(kept: list[ScoredTree]) -> float:
    """The worth of the best tree; with two measures, the area under the Pareto front."""
    if len(kept[0].points) == 1:
        return kept[0].worth
    points = np.array([tree.points for tree in kept])
    points = points[pareto_front(points)]
    widths = points[:, 0] - np.append(points[1:, 0], 0.0)
    return float((widths * points[:, 1]).sum())


def _summary(trees: list[ScoredTree]) -> tuple[float, float]:
    fitness = [tree.fitness for tree in trees]
    return max(fitness), float(np.mean(fitness))


@dataclass
class Breeder:
    """Makes each generation from the one before."""

    random: Random
    symbols: Symbols
    preset: Preset
    cache: FitnessCache
    created: int = 0  #: random trees made since the first generation

    def first(self) -> list[ScoredTree]:
        """The known formulas, and random trees."""
        count = max(self.preset.individuals - len(self.preset.known), 0)
        made = ramped_trees(self.random, self.symbols, count, self.preset.created_depth)
        return [*self.known(), *map(self.cache.score, made)]

    def known(self) -> list[ScoredTree]:
        """The preset's known formulas that use only these terminals."""
        names = self.symbols.terminals
        trees = [parse(text, tuple(TERMINALS)) for text in self.preset.known]
        return [
            self.cache.score(parse(write(tree), names))
            for tree in trees
            if set(tree.used()) <= set(names)
        ]

    def next(self, trees: list[ScoredTree]) -> list[ScoredTree]:
        """The elite of a generation, and new trees."""
        new = best(trees, self.preset.elite)
        seen = {tree.ranking for tree in new}
        while len(new) < self.preset.individuals:
            for tree in self._new_trees(trees, seen):
                if len(new) < self.preset.individuals:
                    new.append(tree)
                    seen.add(tree.ranking)
        return new

    def _new_trees(self, trees: list[ScoredTree], seen: set[bytes]) -> list[ScoredTree]:
        """One or two new trees; if `distinct`, unlike those seen where possible."""
        bred: list[ScoredTree] = []
        for _ in range(MAX_BREEDINGS if self.preset.distinct else 1):
            bred = [self._score(self._mutate(made)) for made in self._breed(trees)]
            unlike = [tree for tree in bred if tree.ranking not in seen]
            if unlike:
                return unlike if self.preset.distinct else bred
        return bred[:1] if self.preset.distinct else bred

    def _score(self, expression: Expression) -> ScoredTree:
        tree = self.cache.score(expression)
        # With parsimony the simple form breeds; otherwise trees fill up with parts without effect.
        return replace(tree, expression=tree.simple) if self.preset.parsimony else tree

    def _breed(self, trees: list[ScoredTree]) -> Iterator[Expression]:
        """A random tree, two crossed trees, or a copy."""
        if self.random.random() < self.preset.created:
            yield self._create()
        elif self.random.random() < self.preset.crossed:
            one, other = self._parents(trees)
            yield from cross(self.random, one, other, self.preset.crossed_depth)
        else:
            yield self._winners(trees)[0].expression

    def _create(self) -> Expression:
        """A random tree, of depths 2, 3, … in turn."""
        self.created += 1
        depth = 2 + self.created % (self.preset.created_depth - 1)
        return random_tree(self.random, self.symbols, depth, full=False)

    def _parents(self, trees: list[ScoredTree]) -> tuple[Expression, Expression]:
        if self.preset.independent:
            return self._winners(trees)[0].expression, self._winners(trees)[0].expression
        first, second = self._winners(trees)[:2]
        return first.expression, second.expression

    def _winners(self, trees: list[ScoredTree]) -> list[ScoredTree]:
        """The trees of one tournament, best first."""
        drawn = [
            trees[self.random.randrange(len(trees))] for _ in range(max(self.preset.tournament, 2))
        ]
        return sorted(drawn, key=lambda tree: (-tree.worth, len(tree.simple)))

    def _mutate(self, expression: Expression) -> Expression:
        if self.random.random() < self.preset.swapped:
            expression = swap_node(self.random, expression, self.symbols)
        if self.random.random() < self.preset.shrunk:
            expression = shrink(self.random, expression, self.symbols)
        return expression
