"""Evolves a score function on some pages of a trace and tests it on others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl import units
from recrawl.errors import BadInput
from recrawl.evolve.fitness import MEASURES, Fitness, parse_fitness
from recrawl.evolve.formula_file import Formula, save_formula
from recrawl.evolve.generations import best, evolve
from recrawl.evolve.presets import preset
from recrawl.evolve.selection import SELECTIONS, pareto_front, select_tree, validate
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.split import split_folds, split_periods
from recrawl.evolve.terminals import BASIC, TERMINALS, check_names
from recrawl.evolve.text import parse, write
from recrawl.lab.changes import changes_of, column_of, link_counter, observed_share
from recrawl.lab.replay import cycle_times
from recrawl.model import DAY
from recrawl.planner.plan import fetches
from recrawl.public import public
from recrawl.results import Results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from recrawl.evolve.expression import Expression
    from recrawl.evolve.fitness_cache import ScoredTree
    from recrawl.evolve.generations import EvolutionRun, Progress
    from recrawl.lab.trace import Trace
    from recrawl.model import Budget, FloatArray, Time

PARETO = (Fitness((("change-ratio", 1.0),)), Fitness((("freshness", 1.0),)))
PARTS = ("train", "validation", "test")
SPLITS = ("pages", "time")


@public
@dataclass(frozen=True, repr=False)
class EvolutionResult(Results):
    """A score function, and its scores where it was evolved, where it was chosen, and elsewhere.

    Iterating gives one row for the formula, one for t·X and one for t, the oldest copy first, with
    a column for each part.
    """

    formula: Formula
    scores: dict[str, float]  #: by part: train, validation, test
    known: dict[str, float]  #: scores of t·X, for comparison
    oldest: dict[str, float]  #: scores of t, for comparison
    observed: float = 1.0  #: share of all pages and cycles that the trace observed, not assumed
    by_seed: list[dict[str, Any]] = field(default_factory=list)  #: what each seed alone would give
    front: list[tuple[str, float, float]] = field(default_factory=list)  #: formulas, on test pages

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"formula": write(self.formula.expression), **self.scores},
            {"formula": "t * X", **self.known},
            {"formula": "t", **self.oldest},
        ]

    @property
    def loses(self) -> bool:
        """Whether t·X or t, which nobody has to learn, is better on the test part."""
        return self.scores["test"] < max(self.known["test"], self.oldest["test"])

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
    measure: str | None = None,
    pareto: bool = False,
    select: str | None = None,
    split: str = "pages",
    budget: Budget | str = "5%",
    every: float = DAY,
    warm_up: int = 2,
    explore: float = 0.0,
    seed: int = 0,
    seeds: int = 1,
    progress: Progress | None = None,
) -> EvolutionResult:
    """Evolve a score function on one part of a trace, select it on another, test it on a third.

    Only pages that exist throughout the window take part. It breeds `seeds` times; the test part
    has no say in which formula is selected. The share `explore` of the fetches goes to the pages
    not visited for longest, as in a plan.
    """
    if pareto and (measure or select):
        raise BadInput(
            "pareto seeks change ratio and freshness and selects by their product, so it must be "
            f"without fitness and select. Got {measure or select!r}; leave out one of them."
        )
    if seeds < 1:
        raise BadInput(f"seeds, the number of times to breed, must be 1 or more. Got {seeds}.")
    names = check_names(terminals)
    measures = PARETO if pareto else (parse_fitness(measure or MEASURES[0]),)
    choose = Selector(measures, select or "simple")
    lived = trace.take(trace.alive())
    arena = SimulatorFactory(len(lived), names, measures, budget, every, warm_up, explore, seed)
    parts = split_trace(lived, split, every=every, seed=seed)
    worlds = {part: arena.of(piece) for part, piece in parts.items()}
    settings = preset(preset_name)
    runs = [
        evolve(
            worlds["train"],
            names,
            measures,
            settings,
            seed=seed + i,
            progress=_after(i, seeds, progress),
        )
        for i in range(seeds)
    ]
    kept = choose.pool(runs)
    chosen = choose.one(kept, worlds["validation"])
    scores = {part: _mean(measures[0], world, chosen) for part, world in worlds.items()}
    known, oldest = (
        {part: _mean(measures[0], world, parse(text, used)) for part, world in worlds.items()}
        for text, used in (("t * X", ("t", "X")), ("t", ("t",)))
    )
    observed = observed_share(lived, every=every)
    made = {
        "trace": trace.name,
        "preset": preset_name,
        "fitness": "pareto" if pareto else measure or MEASURES[0],
        "terminals": list(names),
        "budget": str(budget),
        "explore": explore,
        "split": split,
        "seed": seed,
        "seeds": seeds,
        "simulations": sum(run.simulated for run in runs),
        "observed": observed,
        "scores": scores,
    }
    return EvolutionResult(
        Formula(parse(write(chosen), chosen.used()), every / DAY, made),
        scores,
        known,
        oldest,
        observed,
        [choose.summary(run, worlds, seed + i) for i, run in enumerate(runs)],
        [_point(tree.simple, worlds["test"]) for tree in kept] if pareto else [],
    )


def _after(run: int, runs: int, progress: Progress | None) -> Progress | None:
    """The progress of one of several runs, as part of that of all."""
    if progress is None:
        return None
    return lambda done, of, leader: progress(run * of + done, runs * of, leader)


@dataclass(frozen=True)
class Selector:
    """Selects a tree of one or more runs. It sees train and validation scores, never the test."""

    measures: Sequence[Fitness]
    method: str

    def __post_init__(self) -> None:
        if self.method not in SELECTIONS:
            raise BadInput(f"select must be {', '.join(SELECTIONS)}. Got {self.method!r}.")

    def pool(self, runs: Sequence[EvolutionRun]) -> list[ScoredTree]:
        """The different trees of all runs, best first; with two measures those on their front."""
        trees = best((tree for run in runs for tree in run.kept), sum(len(r.kept) for r in runs))
        if len(self.measures) == 1:
            return trees
        return [trees[row] for row in pareto_front(np.array([tree.points for tree in trees]))]

    def one(self, trees: Sequence[ScoredTree], validation: Simulator) -> Expression:
        """The selected tree; of a Pareto front the one with the largest product of both."""
        if len(self.measures) > 1:
            return max(trees, key=lambda tree: float(tree.points.prod())).simple
        return select_tree(validate(trees, validation, self.measures[0]), self.method).expression

    def summary(
        self, run: EvolutionRun, worlds: Mapping[str, Simulator], seed: int
    ) -> dict[str, Any]:
        """What this run alone would give; without its test score, so that nobody picks by it."""
        chosen = self.one(run.kept, worlds["validation"])
        scores = {part: _mean(self.measures[0], worlds[part], chosen) for part in PARTS[:2]}
        return {"seed": seed, **scores, "formula": write(chosen)}


def split_trace(trace: Trace, split: str, *, every: float, seed: int) -> dict[str, Trace]:
    """The parts of a trace by name; no two parts share a page.

    "pages": 2/5 of the pages train, 2/5 validate, 1/5 test, all of them over the whole window.
    "time" (Santos et al. 2015): 3/5, 1/5 and 1/5, each over another third of the window, in order.
    """
    if split not in SPLITS:
        raise BadInput(f"split must be {' or '.join(SPLITS)}. Got {split!r}.")
    if split == "time":
        pages, windows = split_periods(len(trace), seed=seed), thirds(trace.window, every)
    else:
        pages, windows = split_folds(len(trace), seed=seed)[0], [trace.window] * 3
    return {
        part: replace(
            trace.take(np.isin(np.arange(len(trace)), getattr(pages, part))), window=window
        )
        for part, window in zip(PARTS, windows, strict=True)
    }


def thirds(window: tuple[Time, Time], every: float) -> list[tuple[Time, Time]]:
    """Three windows that follow each other, of whole cycles as equal in number as they can be.

    >>> thirds((0.0, 80.0), 10.0)
    [(0.0, 30.0), (30.0, 50.0), (50.0, 80.0)]
    """
    times = cycle_times(window, every)
    cycles = len(times) - 1
    if cycles < 3:
        raise BadInput(
            f"A split by time needs a window of at least 3 cycles. Got {cycles}; give a shorter "
            "--every or a longer window."
        )
    cuts = [times[round(cycles * i / 3)] for i in range(3)]
    return [(float(a), float(b)) for a, b in pairwise([*cuts, window[1]])]


@dataclass(frozen=True)
class SimulatorFactory:
    """Makes simulators of parts of a trace with the same settings."""

    pages: int  #: of the whole trace
    terminals: tuple[str, ...]
    measures: Sequence[Fitness]
    budget: Budget | str
    every: float
    warm_up: int
    explore: float
    seed: int

    def of(self, part: Trace) -> Simulator:
        """A simulator of a part of the trace, with its pages' share of the budget."""
        spend = self.budget if not isinstance(self.budget, str) else units.budget(self.budget)
        share = len(part) / max(self.pages, 1)
        allowed = fetches(spend, self.pages if spend.share is None else len(part))
        allowed = round(allowed * share) if spend.share is None else allowed
        if not allowed:
            raise BadInput(
                "budget must allow a fetch in each part of the pages, or all formulas are equal. "
                f"Got {self.budget} for {self.pages} pages; try 5%."
            )
        return Simulator(
            changes_of(part, every=self.every),
            fetches=allowed,
            warm_up=self.warm_up,
            seed=self.seed,
            explore=self.explore,
            ndcg=self._uses("ndcg"),
            columns={
                name: column_of(part, name, every=self.every)
                for name in self.terminals
                if name not in TERMINALS
            },
            links=link_counter(part, every=self.every) if self._uses("new-links") else None,
        )

    def _uses(self, measure: str) -> bool:
        return any(each.uses(measure) for each in self.measures)


def _mean(measure: Fitness, world: Simulator, expression: Expression) -> float:
    values: FloatArray = measure.by_cycle(world.run(expression))
    return float(values.mean())


def _point(expression: Expression, world: Simulator) -> tuple[str, float, float]:
    run: Any = world.run(expression)
    return write(expression), float(run.change_ratio.mean()), float(run.freshness.mean())
