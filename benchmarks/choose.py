"""How were the few numbers of `auto` chosen, and what does each ingredient bring?

    python -m benchmarks.choose [FOLDER]

Replays `auto` on the traces in ../shared/traces and on worlds, in eight parts a day, with other
numbers and without each ingredient, and writes docs/choosing.md. Finished replays are kept in
FOLDER, by default `choosing`. Empty it after a change of the policy.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from benchmarks.replays import (
    PROCESSES,
    TRACES,
    VERSIONS,
    Scores,
    mean,
    opened,
    report,
    scores,
    trace_folders,
)
from recrawl import registry
from recrawl.auto import balance, copies, hazard, learner, page_history, trees
from recrawl.auto.features import (
    GROUP_COLUMNS,
    N_MOVING,
    NAMES,
    NEIGHBOUR_COLUMNS,
    FeatureState,
)
from recrawl.lab.bounds import captured
from recrawl.lab.experiment import ExperimentTask, digest, run_experiment
from recrawl.lab.worlds import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

    from recrawl.model import IntArray

PAGE = Path("docs/choosing.md")
PARTS, SEEDS, BUDGETS, BUDGET = 8, 3, ("1%", "2%", "5%"), "2%"
SMALL_TRACE = 200  #: pages; with fewer, a few fetches are all, and chance decides
SEEDS_IF_SMALL = 8
WORLDS = ("poisson", "releases", "bursty", "leaders", "flapping")
WORLD = {"pages": 400, "days": 90, "seed": 5}
SLACK = 0.002  #: of freshness that may be lost to oldest-first and to `poisson`
#: By name of the variant, the constant that differs: module, name, value.
NUMBERS: dict[str, tuple[ModuleType, str, float]] = {
    "slack 0": (balance, "SLACK", 0.0),
    "slack 0.01": (balance, "SLACK", 0.01),
    "exponent at least 0": (balance, "MIN_EXPONENT", 0.0),
    "exponent at least 0.6": (balance, "MIN_EXPONENT", 0.6),
    "exponent 1": (balance, "MIN_EXPONENT", 1.0),
    "ridge 20": (hazard, "RIDGE", 20.0),
    "ridge 120": (hazard, "RIDGE", 120.0),
    "shrink 20": (trees, "SHRINK", 20.0),
}
#: By name of the variant, the columns that are left out.
LEFT_OUT: dict[str, Sequence[str]] = {
    "without how lately": page_history.NAMES,
    "without days of groups": GROUP_COLUMNS,
    "without pattern": GROUP_COLUMNS[4:],
    "without like pages": NEIGHBOUR_COLUMNS,
    "without the copy": copies.NAMES,
    "without any column": NAMES,
}
MODELS = ("linear alone", "trees alone")
IN_ONE = "in one part"
CLASSIC = ("oldest", "poisson")
CHOICES = ["auto", *NUMBERS]
TIGHT = ("ota_contrib", "1%")  #: where pages that flap cost most freshness
AT_STAKE = [v for v in NUMBERS if v.startswith(("slack", "exponent"))]
TRIED = [*CLASSIC, *CHOICES, *LEFT_OUT, *MODELS, IN_ONE]

HEAD = f"""# How `auto` was chosen

Made by `make results` from the traces in `../shared/traces`: {PARTS} parts a day, two
cycles of warm-up, ties by seeded hash. *Captured* is how far a variant gets from oldest-first (0) to the
clairvoyant limit of the change ratio (100). Cells: captured / change ratio / freshness. The last two
columns are the smallest gain of freshness on any trace over oldest-first, and over `poisson`.
"""
MAIN = f"""## Against oldest-first and `poisson`

Means over {SEEDS} orders of ties; over {SEEDS_IF_SMALL} for traces of fewer than {SMALL_TRACE} pages, whose few fetches depend
on chance.
"""
OTHERS = f"""## With other numbers

{BUDGET} a day, one order of ties ({SEEDS_IF_SMALL} below {SMALL_TRACE} pages); differences below three points are noise.
`auto` has slack {balance.SLACK:g}, an exponent of at least {balance.MIN_EXPONENT:g}, ridge {hazard.RIDGE:g}, shrink {trees.SHRINK:g}.
"""
WITHOUT = """## Without each ingredient

The same with some columns set to a constant (the rate of each page always counts), with one of the two
models, and in one part a day. *How lately* is how recently and how densely in time a page changed.
"""
LEFT = f"""## Leaving each trace out in turn

The variant that captures most on the other traces, and what it captures on the trace left out. Variants
that lose more than {SLACK} of freshness on the other traces, to oldest-first or `poisson`, do not count.
"""
HARDEST = f"""This rule only sees {BUDGET} a day, where the best variants differ by less than the noise. What decided between
them is {TIGHT[0]} at {TIGHT[1]} a day, where pages flap and freshness is lost first (means over {SEEDS} orders of ties):
"""
MADE = f"""## Worlds

{WORLD["pages"]} pages, {WORLD["days"]} days, {BUDGET} a day, means over {SEEDS} orders of ties: change ratio / freshness.
Where pages are independent (`poisson`) there is nothing to learn from others.
"""
Cells = dict[tuple[str, str, str], Scores]  #: by trace, budget and variant


def altered(variant: str) -> ExitStack:
    """`auto` as that variant, while the stack is open."""
    stack = ExitStack()
    if variant in NUMBERS:
        module, name, value = NUMBERS[variant]
        stack.enter_context(patch.object(module, name, value))
    if variant in LEFT_OUT:
        gone = np.array([NAMES.index(name) for name in LEFT_OUT[variant]])
        stack.enter_context(
            patch.object(FeatureState, "_columns", _blank(FeatureState._columns, gone))
        )
        moving = _blank(FeatureState._moving, gone[gone < N_MOVING])
        stack.enter_context(patch.object(FeatureState, "_moving", moving))
    if variant == "linear alone":
        stack.enter_context(patch.object(learner, "MIN_HITS_FOR_TREES", np.inf))
    if variant == "trees alone":
        stack.enter_context(patch.object(learner, "_log_ratio", _trees_alone))
    return stack


def _blank(columns: Any, gone: IntArray) -> Any:
    def blanked(*args: Any) -> Any:
        values = columns(*args)
        values[gone] = 0.0  # a column that never varies says nothing
        return values

    return blanked


def _trees_alone(linear: Any, trees: Any, columns: Any) -> Any:
    return (linear if trees is None else trees).log_ratio(columns)


def replay_scores(_: None, path: Path, variant: str, budget: str, seed: int) -> Scores:
    """One replay of a variant."""
    policy = variant if variant in CLASSIC else "auto"
    with altered(variant):
        parts = 1 if variant == IN_ONE else PARTS
        return scores(opened(path), policy, budget, parts=parts, seed=seed)


def count_pages(_: None, path: Path) -> int:
    return len(opened(path))


def asked(path: Path, pages: int) -> Iterator[tuple[str, str, str, int]]:
    """The name of each cell of a trace, its budget, its variant and over how many seeds."""
    seeds, once = (SEEDS_IF_SMALL,) * 2 if pages < SMALL_TRACE else (SEEDS, 1)
    for budget in BUDGETS if path.parent == TRACES else (BUDGET,):
        yield from ((budget, budget, variant, seeds) for variant in (*CLASSIC, "auto"))
    if path.name == TIGHT[0]:
        yield from ((TIGHT[1], TIGHT[1], variant, SEEDS) for variant in AT_STAKE)
    if path.parent == TRACES:  # the same seeds for all that is compared with each other
        yield from ((f"{BUDGET} once", BUDGET, variant, once) for variant in TRIED)


def all_cells(folder: Path, paths: list[Path]) -> Cells:
    settings = {path: digest((path / VERSIONS).stat().st_size, PARTS) for path in paths}
    counting = [
        ExperimentTask(f"{path.name}-pages", settings[path], count_pages, (path,)) for path in paths
    ]
    pages = run_experiment(counting, folder, processes=PROCESSES).values()
    cells = {
        (path.name, name, variant): [
            ExperimentTask(
                f"{path.name}-{budget}-{variant}-{seed}",
                settings[path],
                replay_scores,
                (path, variant, budget, seed),
            )
            for seed in range(seeds)
        ]
        for path, size in zip(paths, pages, strict=True)
        for name, budget, variant, seeds in asked(path, size)
    }
    tasks = {task.key: task for group in cells.values() for task in group}
    results = run_experiment(tasks.values(), folder, processes=PROCESSES, progress=report)
    return {key: mean([results[task.key] for task in group]) for key, group in cells.items()}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "choosing")
    paths = trace_folders(PAGE)
    for name in WORLDS:
        if not (folder / name).exists():
            write(registry.make("world", name).make(**WORLD), folder / name)
    cells = all_cells(folder, [*paths, *(folder / name for name in WORLDS)])
    PAGE.write_text(page(cells, [path.name for path in paths]))


def page(cells: Cells, traces: list[str]) -> str:
    lines = [HEAD, MAIN]
    for budget in BUDGETS:
        lines += [f"### {budget} a day", "", *table(cells, traces, budget, ("poisson", "auto")), ""]
    once = f"{BUDGET} once"
    lines += [OTHERS, *table(cells, traces, once, ("poisson", *CHOICES)), ""]
    lines += [LEFT, *left_out(cells, traces, once), ""]
    lines += [HARDEST, *table(cells, TIGHT[:1], TIGHT[1], ("poisson", "auto", *AT_STAKE)), ""]
    lines += [WITHOUT, *table(cells, traces, once, ("auto", *LEFT_OUT, *MODELS, IN_ONE)), ""]
    lines += [MADE, f"| | {' | '.join(WORLDS)} |", "|---" * (len(WORLDS) + 1) + "|"]
    for variant in (*CLASSIC, "auto"):
        row = [cells[world, BUDGET, variant] for world in WORLDS]
        text = " | ".join(f"{cell['change_ratio']:.3f} / {cell['freshness']:.3f}" for cell in row)
        lines.append(f"| `{variant}` | {text} |")
    return "\n".join([*lines, ""])


def table(cells: Cells, traces: Sequence[str], budget: str, variants: Iterable[str]) -> list[str]:
    """A row for each variant, a column for each trace."""
    names = " | ".join(traces)
    lines = [
        f"| | captured | {names} | than oldest | than poisson |",
        "|---" * (len(traces) + 4) + "|",
    ]
    for variant in variants:
        row = [cells[trace, budget, variant] for trace in traces]
        got = [way(cells, trace, budget, variant) for trace in traces]
        text = " | ".join(
            f"{100 * part:.0f} / {cell['change_ratio']:.3f} / {cell['freshness']:.3f}"
            for part, cell in zip(got, row, strict=True)
        )
        fresher = " | ".join(f"{fresh:+.4f}" for fresh in than(cells, traces, budget, variant))
        lines.append(f"| {variant} | {100 * np.mean(got):.1f} | {text} | {fresher} |")
    return lines


def left_out(cells: Cells, traces: list[str], budget: str) -> list[str]:
    lines = ["| left out | chosen | there | `auto` there |", "|---|---|---|---|"]
    for trace in traces:
        rest = [other for other in traces if other != trace]
        fit = [v for v in CHOICES if min(than(cells, rest, budget, v)) >= -SLACK] or CHOICES
        best = max(fit, key=lambda v: np.mean([way(cells, t, budget, v) for t in rest]))
        there = [f"{100 * way(cells, trace, budget, v):.0f}" for v in (best, "auto")]
        lines.append(f"| {trace} | {best} | {' | '.join(there)} |")
    return lines


def than(cells: Cells, traces: Sequence[str], budget: str, variant: str) -> list[float]:
    """How much fresher than with each classic policy, where it is least."""
    return [
        min(
            cells[trace, budget, variant]["freshness"] - cells[trace, budget, base]["freshness"]
            for trace in traces
        )
        for base in CLASSIC
    ]


def way(cells: Cells, trace: str, budget: str, variant: str) -> float:
    """How far a variant gets from oldest-first to the limit; 0 where there is no room."""
    cell, oldest = cells[trace, budget, variant], cells[trace, budget, "oldest"]
    ratio = "change_ratio"
    return captured(cell[ratio], oldest[ratio], cell[f"limit {ratio}"]) or 0.0


if __name__ == "__main__":
    main()
