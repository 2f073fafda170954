"""GP4C (Santos 2013): does evolution find better score functions than the classic ones?

Five folds of the pages, five seeds, 57 days (the first two are warm-up), 5 % of the pages a day.
Results are kept in a folder; an interrupted experiment continues from them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl import registry
from recrawl.evolve.fitness import Fitness
from recrawl.evolve.generations import evolve
from recrawl.evolve.presets import PRESETS, Preset
from recrawl.evolve.selection import ValidatedTree, select_tree, validate
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.split import split_folds
from recrawl.evolve.terminals import BASIC, TERMINALS
from recrawl.evolve.text import parse, write
from recrawl.lab.changes import changes_of, changes_of_world
from recrawl.lab.experiment import ExperimentTask, digest, run_experiment
from recrawl.lab.traces import open_trace
from recrawl.papers.santos.baselines import CODE_WEIGHTS, code_ratio, random_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recrawl.evolve.change_history import ChangeHistory
    from recrawl.lab.experiment import Progress
    from recrawl.model import FloatArray, IntArray

SHARE = 0.05
QUICK_PAGES = 6_000
WORKERS = 2
#: The baselines as score functions, the weighted ones as the text defines them.
BASELINES: Final = {
    "Age": "t",
    "NAD": "1 - exp(0 - nad * t)",
    "SAD": "1 - exp(0 - sad * t)",
    "AAD": "1 - exp(0 - aad * t)",
    "GAD": "1 - exp(0 - gad * t)",
    "CG": "cho",
}
GP4C: Final = {"GP4C best": "best", "GP4C sum": "sum", "GP4C avg": "avg"}
#: Sum_σ and Avg_σ as in the program: how much of the two means counts beside σ.
CODE_SELECTIONS: Final = {"GP4C sum (code)": 1.0, "GP4C avg (code)": 0.5}


@dataclass(frozen=True)
class ThesisProtocol:
    """Folds, seeds and breeding parameters of the experiment."""

    folds: int = 5
    seeds: tuple[int, ...] = (111, 222, 333, 444, 555)
    breeding: Preset = PRESETS["thesis"]

    @classmethod
    def quick(cls) -> ThesisProtocol:
        """A small experiment, to see that everything works."""
        return cls(3, (111, 222), replace(PRESETS["thesis"], individuals=60, generations=8))


@dataclass(frozen=True)
class FoldRun:
    """The result of one fold and seed, as it is kept."""

    fold: int
    seed: int
    formulas: list[str]
    train: list[list[float]]  #: one row per formula, one column per cycle
    validation: list[list[float]]
    worth: list[float]
    simulated: int
    breeding: float  #: seconds
    validating: float  #: seconds

    def candidates(self) -> list[ValidatedTree]:
        """The formulas with their fitness."""
        rows = zip(self.formulas, self.train, self.validation, self.worth, strict=True)
        return [
            ValidatedTree(parse(formula, BASIC), np.array(train), np.array(validation), worth)
            for formula, train, validation, worth in rows
        ]


@dataclass(frozen=True)
class ThesisResults:
    """The results of the experiment."""

    runs: list[FoldRun]
    chosen: dict[str, list[ValidatedTree]]  #: by name of the selection, one a fold
    daily: dict[
        str, FloatArray
    ]  #: change ratio on test pages by method: one row per fold, one column per day

    @property
    def by_fold(self) -> dict[str, FloatArray]:
        """The mean change ratio of each fold, by method."""
        return {name: days.mean(axis=1) for name, days in self.daily.items()}


def changes_from(source: str, *, quick: bool = False) -> ChangeHistory:
    """The changes of a world, given by name, or of a trace or bit strings at a path."""
    if Path(source).exists():
        return changes_of(open_trace(source))
    size = {"pages": QUICK_PAGES} if quick else {}
    return changes_of_world(registry.make("world", source).make(**size))


def santos(
    changes: ChangeHistory,
    folder: Path,
    protocol: ThesisProtocol,
    *,
    clock: Callable[[], float],
    progress: Progress | None = None,
) -> ThesisResults:
    """Run what is left of the experiment; `folder` keeps the results.

    `clock` returns seconds; it only measures how long breeding and validating take.
    """
    truth = (changes.words, changes.key, changes.contents, changes.cycles, changes.cycle_days)
    settings = digest(*truth, protocol.folds, asdict(protocol.breeding))
    tasks = [
        ExperimentTask(f"fold{fold + 1}-seed{seed}", settings, _run, (fold, seed, protocol, clock))
        for seed in protocol.seeds
        for fold in range(protocol.folds)
    ]
    best: list[FoldRun] = []

    def describe(_: str, result: dict[str, Any]) -> str:
        best[:] = [max([*best, FoldRun(**result)], key=lambda run: run.worth[0])]
        return f"{best[0].worth[0]:.4f}  {best[0].formulas[0]}"

    results = run_experiment(
        tasks, folder, shared=changes, processes=WORKERS, progress=progress, describe=describe
    )
    return _test(changes, protocol, [FoldRun(**result) for result in results.values()])


def simulator(changes: ChangeHistory, rows: IntArray) -> Simulator:
    """A simulator of some of the pages."""
    return Simulator(changes.take(rows), int(SHARE * len(rows)))


def _run(
    changes: ChangeHistory,
    fold: int,
    seed: int,
    protocol: ThesisProtocol,
    clock: Callable[[], float],
) -> dict[str, Any]:
    split = split_folds(len(changes), protocol.folds)[fold]
    begin, measure = clock(), Fitness()
    bred = evolve(simulator(changes, split.train), BASIC, [measure], protocol.breeding, seed=seed)
    middle = clock()
    trees = validate(bred.kept, simulator(changes, split.validation), measure)
    run = FoldRun(
        fold=fold,
        seed=seed,
        formulas=[write(each.expression) for each in trees],
        train=[each.train.tolist() for each in trees],
        validation=[each.validation.tolist() for each in trees],
        worth=[each.worth for each in trees],
        simulated=bred.simulated,
        breeding=middle - begin,
        validating=clock() - middle,
    )
    return asdict(run)


def _test(changes: ChangeHistory, protocol: ThesisProtocol, runs: list[FoldRun]) -> ThesisResults:
    """Choose one formula a fold over all seeds, and test it beside the baselines."""
    chosen: dict[str, list[ValidatedTree]] = {name: [] for name in (*GP4C, *CODE_SELECTIONS)}
    daily: dict[str, list[FloatArray]] = {}
    for fold, split in enumerate(split_folds(len(changes), protocol.folds)):
        world = simulator(changes, split.test)
        trees = [tree for run in runs if run.fold == fold for tree in run.candidates()]
        for name, method in GP4C.items():
            chosen[name].append(select_tree(trees, method))
        for name, share in CODE_SELECTIONS.items():
            chosen[name].append(select_by_code(trees, share))
        ratios = {"Rand": random_ratio(world)}
        for name, formula in BASELINES.items():
            ratios[name] = world.run(parse(formula, tuple(TERMINALS))).change_ratio
        ratios |= {name: code_ratio(world, name) for name in CODE_WEIGHTS}
        for name, selected in chosen.items():
            ratios[name] = world.run(selected[-1].expression).change_ratio
        for name, ratio in ratios.items():
            daily.setdefault(name, []).append(ratio)
    return ThesisResults(runs, chosen, {name: np.array(rows) for name, rows in daily.items()})


def select_by_code(trees: Sequence[ValidatedTree], share: float) -> ValidatedTree:
    """Sum_σ or Avg_σ as GP4C's program has them: its σ is √Σ(x − m)², √cycles times too large."""

    def value(tree: ValidatedTree) -> float:
        cycles = len(tree.train) + len(tree.validation)
        means = float(tree.train.mean() + tree.validation.mean())
        return share * means - tree.spread * float(np.sqrt(cycles))

    return min(trees, key=lambda tree: (-value(tree), len(tree.expression)))
