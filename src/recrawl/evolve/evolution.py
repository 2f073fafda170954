"""Which score function is fittest? Generations of trees, the best of which are kept (GP4C)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from recrawl.evolve.judge import Judge, Tree
from recrawl.evolve.selection import front
from recrawl.evolve.terminals import TERMINALS
from recrawl.evolve.text import parse, write
from recrawl.evolve.trees import Symbols, crossed, grown, ramped, shrunk, swapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from recrawl.evolve.expression import Expression
    from recrawl.evolve.fitness import Fitness
    from recrawl.evolve.presets import Preset
    from recrawl.evolve.simulator import Simulator
    from recrawl.model import FloatArray

    #: Told after each generation: its number, of how many, and the best tree so far.
    Progress = Callable[[int, int, Tree], None]

ATTEMPTS = 5  #: to breed a tree that ranks unlike all others of its generation


@dataclass(frozen=True)
class Outcome:
    """What a run of evolution came to."""

    kept: list[Tree]  #: the best of all generations and what was known before, best first
    history: FloatArray  #: best and mean fitness of each generation, the first is random
    simulated: int


def evolve(
    simulator: Simulator,
    terminals: tuple[str, ...],
    measures: Sequence[Fitness],
    preset: Preset,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Outcome:
    """Breed score functions that do well in a simulation; the same seed gives the same ones.

    With two measures it looks for trees that no other beats in one without losing in the other.
    """
    judge = Judge(simulator, measures, preset.parsimony)
    random = Random(seed)  # noqa: S311 no secret hangs on it
    symbols = Symbols(terminals, preset.constants, real=preset.real)
    breeder = Breeder(random, symbols, preset, judge)
    trees = ranked(breeder.first())
    kept, history = best(trees, preset.kept), [_summary(trees)]
    better, reached = 0, achieved(kept)  # generation of the last improvement, and what it reached
    for generation in range(1, preset.generations + 1):
        trees = ranked(breeder.next(trees))
        kept = best(ranked([*kept, *trees]), preset.kept)
        history.append(_summary(trees))
        if achieved(kept) > reached:
            better, reached = generation, achieved(kept)
        if progress is not None:
            progress(generation, preset.generations, kept[0])
        if preset.patience is not None and generation - better >= preset.patience:
            break
    # Each by a simulation of its own: what is reported does not hang on the probes.
    known = [tree for tree in breeder.known() if tree.simple not in {k.simple for k in kept}]
    final = ranked([judge.exact(tree) for tree in (*kept, *known)])
    final = best(final, len(final))
    if len(measures) > 1:
        final = [final[row] for row in front(np.array([tree.points for tree in final]))]
    return Outcome(final, np.array(history), judge.simulated)


def best(trees: Iterable[Tree], count: int) -> list[Tree]:
    """The best trees of different form, best first; of equals the shortest."""
    different = {tree.simple.key(): tree for tree in trees}
    order = sorted(different.values(), key=lambda t: (-t.worth, len(t.simple), t.simple.key()))
    return order[:count]


def ranked(trees: list[Tree]) -> list[Tree]:
    """With two measures, a tree's worth is among the others: better the fewer of them beat it."""
    points = np.array([tree.points for tree in trees])
    if points.shape[1] == 1:
        return trees
    no_worse = (points[:, None] >= points).all(axis=2)
    beaten = (no_worse & ~no_worse.T).sum(axis=0)
    return [replace(tree, worth=-float(by)) for tree, by in zip(trees, beaten, strict=True)]


def achieved(kept: list[Tree]) -> float:
    """How far the best have come: the worth of the first, or the area under their front."""
    if len(kept[0].points) == 1:
        return kept[0].worth
    points = np.array([tree.points for tree in kept])
    points = points[front(points)]
    widths = points[:, 0] - np.append(points[1:, 0], 0.0)
    return float((widths * points[:, 1]).sum())


def _summary(trees: list[Tree]) -> tuple[float, float]:
    found = [tree.fitness for tree in trees]
    return max(found), float(np.mean(found))


@dataclass
class Breeder:
    """Makes one generation from another."""

    random: Random
    symbols: Symbols
    preset: Preset
    judge: Judge
    created: int = 0

    def first(self) -> list[Tree]:
        """Random trees, and what is known to be good."""
        count = max(self.preset.individuals - len(self.preset.known), 0)
        made = ramped(self.random, self.symbols, count, self.preset.created_depth)
        return [*self.known(), *map(self.judge.tree, made)]

    def known(self) -> list[Tree]:
        """What is known to be good, as far as the terminals allow."""
        names = self.symbols.terminals
        trees = [parse(text, tuple(TERMINALS)) for text in self.preset.known]
        return [
            self.judge.tree(parse(write(tree), names))
            for tree in trees
            if set(tree.used()) <= set(names)
        ]

    def next(self, trees: list[Tree]) -> list[Tree]:
        """The elite of a generation, and newcomers."""
        new = best(trees, self.preset.elite)
        seen = {tree.behaviour for tree in new}
        while len(new) < self.preset.individuals:
            for tree in self._newcomers(trees, seen):
                if len(new) < self.preset.individuals:
                    new.append(tree)
                    seen.add(tree.behaviour)
        return new

    def _newcomers(self, trees: list[Tree], seen: set[bytes]) -> list[Tree]:
        """One or two trees; where wanted, ones unlike those seen, if that can be had."""
        bred: list[Tree] = []
        for _ in range(ATTEMPTS if self.preset.distinct else 1):
            bred = [self._judged(self._mutated(made)) for made in self._bred(trees)]
            unlike = [tree for tree in bred if tree.behaviour not in seen]
            if unlike:
                return unlike if self.preset.distinct else bred
        return bred[:1] if self.preset.distinct else bred

    def _judged(self, expression: Expression) -> Tree:
        found = self.judge.tree(expression)
        # With parsimony the simple form breeds on: else trees fill up with what does nothing.
        return replace(found, expression=found.simple) if self.preset.parsimony else found

    def _bred(self, trees: list[Tree]) -> Iterator[Expression]:
        """A random tree, two crossed ones, or a copy."""
        if self.random.random() < self.preset.created:
            yield self._created()
        elif self.random.random() < self.preset.crossed:
            one, other = self._parents(trees)
            yield from crossed(self.random, one, other, self.preset.crossed_depth)
        else:
            yield self._winners(trees)[0].expression

    def _created(self) -> Expression:
        """A random tree, of depths 2, 3, … in turns."""
        self.created += 1
        depth = 2 + self.created % (self.preset.created_depth - 1)
        return grown(self.random, self.symbols, depth, full=False)

    def _parents(self, trees: list[Tree]) -> tuple[Expression, Expression]:
        if self.preset.independent:
            return self._winners(trees)[0].expression, self._winners(trees)[0].expression
        first, second = self._winners(trees)[:2]
        return first.expression, second.expression

    def _winners(self, trees: list[Tree]) -> list[Tree]:
        """A tournament, best first."""
        drawn = [
            trees[self.random.randrange(len(trees))] for _ in range(max(self.preset.tournament, 2))
        ]
        return sorted(drawn, key=lambda tree: (-tree.worth, len(tree.simple)))

    def _mutated(self, expression: Expression) -> Expression:
        if self.random.random() < self.preset.swapped:
            expression = swapped(self.random, expression, self.symbols)
        if self.random.random() < self.preset.shrunk:
            expression = shrunk(self.random, expression, self.symbols)
        return expression
