"""GP4C (Santos 2013): does evolution find better score functions than the classic ones?

Five folds of the pages, five seeds, 57 days of which two are warm-up, 5 % of the pages a day.
Every run of a fold and a seed is kept in a file of its own, so that work cut off goes on.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash

from recrawl import registry
from recrawl.evolve.by_page import look
from recrawl.evolve.changes import Changes
from recrawl.evolve.evolution import evolve
from recrawl.evolve.fitness import Fitness
from recrawl.evolve.presets import PRESETS, Preset
from recrawl.evolve.selection import METHODS, Validated, selected, validated
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.split import folds
from recrawl.evolve.terminals import BASIC, TERMINALS
from recrawl.evolve.text import parse, write
from recrawl.lab.changes import changes_of, changes_of_world
from recrawl.lab.traces import open_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recrawl.model import FloatArray, IntArray

SHARE = 0.05
QUICK_PAGES = 6_000
WORKERS = 2
#: The baselines as score functions, the weighted ones as the text defines them.
BASELINES: Final = {
    "Age": "t",
    "NAD": "1 - exp(0 - nad * t)",
    "NAD (code)": "t * X",
    "SAD": "1 - exp(0 - sad * t)",
    "AAD": "1 - exp(0 - aad * t)",
    "GAD": "1 - exp(0 - gad * t)",
    "CG": "cho",
}
GP4C: Final = {"GP4C best": "best", "GP4C sum": "sum", "GP4C avg": "avg"}


@dataclass(frozen=True)
class Protocol:
    """How the experiment is run."""

    folds: int = 5
    seeds: tuple[int, ...] = (111, 222, 333, 444, 555)
    breeding: Preset = PRESETS["thesis"]

    @classmethod
    def quick(cls) -> Protocol:
        """A small one, to see that all works."""
        return cls(3, (111, 222), replace(PRESETS["thesis"], individuals=60, generations=8))


@dataclass(frozen=True)
class Ran:
    """What one fold and seed came to, as it is kept."""

    fold: int
    seed: int
    formulas: list[str]
    train: list[list[float]]  #: a row a formula, a column a cycle
    validation: list[list[float]]
    worth: list[float]
    simulated: int
    breeding: float  #: seconds
    validating: float

    def candidates(self) -> list[Validated]:
        """The formulas with their fitness."""
        rows = zip(self.formulas, self.train, self.validation, self.worth, strict=True)
        return [
            Validated(parse(formula, BASIC), np.array(train), np.array(validation), worth)
            for formula, train, validation, worth in rows
        ]


@dataclass(frozen=True)
class Found:
    """What the experiment came to."""

    runs: list[Ran]
    chosen: dict[str, list[Validated]]  #: by way to select, one a fold
    daily: dict[str, FloatArray]  #: by method: a row a fold, a column a day, on test pages

    @property
    def by_fold(self) -> dict[str, FloatArray]:
        return {name: days.mean(axis=1) for name, days in self.daily.items()}


def changes_from(source: str, *, quick: bool = False) -> Changes:
    """The pages of a world of bits, by name, or of bit strings at a path."""
    if Path(source).exists():
        return changes_of(open_trace(source))
    size = {"pages": QUICK_PAGES} if quick else {}
    return changes_of_world(registry.make("world", source).make(**size))


def santos(
    changes: Changes,
    folder: Path,
    protocol: Protocol,
    *,
    clock: Callable[[], float],
    progress: Callable[[int, int, str], None] | None = None,
) -> Found:
    """Run the experiment, or what is left of it; `folder` keeps what is done.

    `clock` gives seconds and is asked only for how long things take.
    """
    tasks = list(_tasks(changes, folder, protocol))
    waiting = [task for task in tasks if not task.file.exists()]
    leaders = [task.read() for task in tasks if task.file.exists()]
    _tell(leaders, len(tasks), progress)
    if waiting:
        _save(changes, folder / "changes.npz")
        # Compiled here once and kept, instead of in every worker.
        simulator(changes, np.arange(len(changes))).run(parse("t * X", BASIC))
        # A Pool: its workers end by themselves when this process is killed.
        with get_context("spawn").Pool(min(WORKERS, len(waiting))) as pool:
            for done in pool.imap_unordered(partial(_run, clock=clock), waiting):
                leaders.append(done)
                _tell(leaders, len(tasks), progress)
    runs = [task.read() for task in tasks]
    return _judged(changes, protocol, runs)


def _tell(runs: list[Ran], total: int, progress: Callable[[int, int, str], None] | None) -> None:
    if progress is not None and runs:
        leader = max(runs, key=lambda ran: ran.worth[0])
        progress(len(runs), total, f"{leader.worth[0]:.4f}  {leader.formulas[0]}")
    elif progress is not None:
        progress(0, total, "")


@dataclass(frozen=True)
class Task:
    """One run of a fold and a seed."""

    fold: int
    seed: int
    protocol: Protocol
    folder: Path
    file: Path  #: named after all that the result depends on

    def read(self) -> Ran:
        return Ran(**json.loads(self.file.read_text()))


def _tasks(changes: Changes, folder: Path, protocol: Protocol) -> Iterator[Task]:
    folder.mkdir(parents=True, exist_ok=True)
    data = xxhash.xxh3_64_hexdigest(changes.words.tobytes() + changes.key.tobytes())
    bred = f"{data}{protocol.folds}{asdict(protocol.breeding)}"
    mark = xxhash.xxh3_64_hexdigest(bred.encode())
    for seed in protocol.seeds:
        for fold in range(protocol.folds):
            file = folder / f"{mark}-fold{fold + 1}-seed{seed}.json"
            yield Task(fold, seed, protocol, folder, file)


def _save(changes: Changes, file: Path) -> None:
    np.savez(file, words=changes.words, key=changes.key, cycles=changes.cycles)


def _load(file: Path) -> Changes:
    kept = np.load(file)
    return Changes(kept["words"], int(kept["cycles"]), kept["key"])


def simulator(changes: Changes, rows: IntArray) -> Simulator:
    """A simulation of some of the pages."""
    return Simulator(changes.take(rows), int(SHARE * len(rows)))


def _run(task: Task, clock: Callable[[], float]) -> Ran:
    """One run, in a process of its own; kept whole or not at all."""
    changes = _load(task.folder / "changes.npz")
    split = folds(len(changes), task.protocol.folds)[task.fold]
    begin, measure = clock(), Fitness()
    bred = evolve(
        simulator(changes, split.train), BASIC, [measure], task.protocol.breeding, seed=task.seed
    )
    middle = clock()
    found = validated(bred.kept, simulator(changes, split.validation), measure)
    ran = Ran(
        fold=task.fold,
        seed=task.seed,
        formulas=[write(each.expression) for each in found],
        train=[each.train.tolist() for each in found],
        validation=[each.validation.tolist() for each in found],
        worth=[each.worth for each in found],
        simulated=bred.simulated,
        breeding=middle - begin,
        validating=clock() - middle,
    )
    unfinished = task.file.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(ran)))
    unfinished.replace(task.file)
    return ran


def _judged(changes: Changes, protocol: Protocol, runs: list[Ran]) -> Found:
    """Choose a formula a fold over all seeds, and test it beside the baselines."""
    chosen: dict[str, list[Validated]] = {method: [] for method in METHODS}
    daily: dict[str, list[FloatArray]] = {name: [] for name in ("Rand", *BASELINES, *GP4C)}
    for fold, split in enumerate(folds(len(changes), protocol.folds)):
        world = simulator(changes, split.test)
        trees = [tree for ran in runs if ran.fold == fold for tree in ran.candidates()]
        daily["Rand"].append(_at_random(world))
        for name, formula in BASELINES.items():
            daily[name].append(world.run(parse(formula, tuple(TERMINALS))).change_ratio)
        for name, method in GP4C.items():
            chosen[method].append(selected(trees, method))
            daily[name].append(world.run(chosen[method][-1].expression).change_ratio)
    return Found(runs, chosen, {name: np.array(rows) for name, rows in daily.items()})


def _at_random(world: Simulator) -> FloatArray:
    """The change ratio of fetches drawn anew each day."""
    random, cycles = np.random.default_rng(world.seed), world.changes.cycles
    last = np.full(len(world.changes), world.warm_up)
    found: list[float] = []
    for now in range(world.warm_up + 1, cycles + 1):
        chosen = random.permutation(len(last))[: world.fetches]
        hits = look(world.words, world.contents, chosen, last, now)
        last[chosen] = now
        found.append(float(hits.sum()) / max(world.fetches, 1))
    return np.array(found)
