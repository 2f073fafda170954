"""Evolves a score function on some pages of a trace and tests it on others."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl import units
from recrawl.errors import BadInput
from recrawl.evolve.fitness import Fitness, parse_fitness
from recrawl.evolve.formula_file import Formula, save_formula
from recrawl.evolve.generations import evolve
from recrawl.evolve.presets import preset
from recrawl.evolve.selection import SELECTIONS, select_tree, validate
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.split import split_folds
from recrawl.evolve.terminals import BASIC, TERMINALS, check_names
from recrawl.evolve.text import parse, write
from recrawl.lab.changes import changes_of, column_of, link_counter
from recrawl.model import DAY
from recrawl.planner.plan import fetches
from recrawl.public import public
from recrawl.results import Results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recrawl.evolve.change_history import ChangeHistory
    from recrawl.evolve.expression import Expression
    from recrawl.evolve.generations import EvolutionRun, Progress
    from recrawl.lab.trace import Trace
    from recrawl.model import Budget, FloatArray, IntArray

PARETO = (Fitness((("change-ratio", 1.0),)), Fitness((("freshness", 1.0),)))
PARTS = ("train", "validation", "test")


@public
@dataclass(frozen=True, repr=False)
class EvolutionResult(Results):
    """A score function, and its scores on the pages that evolved it, chose it, and test it.

    Iterating gives one row for the formula and one for t·X, with a column for each part.
    """

    formula: Formula
    scores: dict[str, float]  #: by part of the pages
    known: dict[str, float]  #: scores of t·X, for comparison
    front: list[tuple[str, float, float]] = field(default_factory=list)  #: formulas, on test pages

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"formula": write(self.formula.expression), **self.scores},
            {"formula": "t * X", **self.known},
        ]

    def __repr__(self) -> str:
        formula, score = write(self.formula.expression), self.scores["test"]
        return f"<EvolutionResult: {formula}, {score:.4f} on test>"

    def save(self, path: str | Path) -> None:
        """Write the policy file, which `make` and every command take as a policy."""
        save_formula(self.formula, path)


def learn(
    trace: Trace,
    *,
    preset_name: str = "modern",
    terminals: Sequence[str] = BASIC,
    measure: str = "change-ratio",
    pareto: bool = False,
    select: str = "simple",
    budget: Budget | str = "5%",
    every: float = DAY,
    warm_up: int = 2,
    explore: float = 0.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> EvolutionResult:
    """Evolve a score function on 2/5 of the pages, select it on 2/5, test it on 1/5.

    The share `explore` of the fetches goes to the pages not visited for longest, as in a plan.
    """
    if select not in SELECTIONS:
        raise BadInput(f"select must be {', '.join(SELECTIONS)}. Got {select!r}.")
    names = check_names(terminals)
    settings = preset(preset_name)
    measures = PARETO if pareto else (parse_fitness(measure),)
    split = split_folds(len(trace), seed=seed)[0]
    arena = SimulatorFactory(trace, names, measures, budget, every, warm_up, explore, seed)
    train, validation, test = (arena.of(np.sort(getattr(split, part))) for part in PARTS)
    outcome = evolve(train, names, measures, settings, seed=seed, progress=progress)
    chosen = _chosen(outcome, validation, measures, select)
    simulators = dict(zip(PARTS, (train, validation, test), strict=True))
    scores = {part: _mean(measures[0], world, chosen) for part, world in simulators.items()}
    known = parse("t * X", ("t", "X"))
    made = {
        "trace": trace.name,
        "preset": preset_name,
        "fitness": "pareto" if pareto else measure,
        "terminals": list(names),
        "budget": str(budget),
        "explore": explore,
        "seed": seed,
        "simulations": outcome.simulated,
        "scores": scores,
    }
    return EvolutionResult(
        Formula(parse(write(chosen), chosen.used()), every / DAY, made),
        scores,
        {part: _mean(measures[0], world, known) for part, world in simulators.items()},
        [_point(tree.simple, test) for tree in outcome.kept] if pareto else [],
    )


def _chosen(
    outcome: EvolutionRun, validation: Simulator, measures: Sequence[Fitness], select: str
) -> Expression:
    """The selected tree; of a Pareto front the one with the largest product of both measures."""
    if len(measures) > 1:
        return max(outcome.kept, key=lambda tree: float(tree.points.prod())).simple
    return select_tree(validate(outcome.kept, validation, measures[0]), select).expression


@dataclass(frozen=True)
class SimulatorFactory:
    """Makes simulators of parts of a trace with the same settings."""

    trace: Trace
    terminals: tuple[str, ...]
    measures: Sequence[Fitness]
    budget: Budget | str
    every: float
    warm_up: int
    explore: float
    seed: int

    def of(self, rows: IntArray) -> Simulator:
        """A simulator of some pages, with their share of the budget."""
        spend = self.budget if not isinstance(self.budget, str) else units.budget(self.budget)
        share = len(rows) / max(len(self.trace), 1)
        allowed = fetches(spend, len(self.trace) if spend.share is None else len(rows))
        return Simulator(
            self.changes.take(rows),
            fetches=round(allowed * share) if spend.share is None else allowed,
            warm_up=self.warm_up,
            seed=self.seed,
            explore=self.explore,
            ndcg=self._uses("ndcg"),
            columns={
                name: column_of(self.trace, name)[rows]
                for name in self.terminals
                if name not in TERMINALS
            },
            links=link_counter(self.trace, rows, every=self.every)
            if self._uses("new-links")
            else None,
        )

    @cached_property
    def changes(self) -> ChangeHistory:
        return changes_of(self.trace, every=self.every)

    def _uses(self, measure: str) -> bool:
        return any(each.uses(measure) for each in self.measures)


def _mean(measure: Fitness, world: Simulator, expression: Expression) -> float:
    values: FloatArray = measure.by_cycle(world.run(expression))
    return float(values.mean())


def _point(expression: Expression, world: Simulator) -> tuple[str, float, float]:
    run: Any = world.run(expression)
    return write(expression), float(run.change_ratio.mean()), float(run.freshness.mean())
