"""How were the few numbers of `auto` chosen, and what does each ingredient bring?

    python -m benchmarks.choose [FOLDER]

Replays `auto` on the traces in ../shared/traces and on worlds, in eight parts a day, with other
numbers and without each ingredient, and writes docs/choosing.md. Runs are kept in the folder
`choosing` and not made twice: empty it after a change of the policy.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from recrawl import registry, units
from recrawl.auto import copy, hazard, learner, online
from recrawl.auto import page_history as own
from recrawl.auto import trees as boosted
from recrawl.auto.features import DAYS, LIKE, MOVING, NAMES, FeatureState
from recrawl.lab.bounds import clairvoyant
from recrawl.lab.metrics import daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.traces import open_trace
from recrawl.lab.worlds import write
from recrawl.policies import auto

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recrawl.model import IntArray

TRACES = Path("../shared/traces")
PAGE = Path("docs/choosing.md")
PARTS, SEEDS, BUDGETS, BUDGET = 8, 3, ("1%", "2%", "5%"), "2%"
SMALL = 200  #: pages below which a few fetches are all, and chance decides
MORE = 8  #: orders of ties then
WORLDS = ("poisson", "releases", "bursty", "leaders", "flapping")
WORLD = {"pages": 400, "days": 90, "seed": 5}
SLACK = 0.002  #: of freshness that may be lost to oldest-first and to `poisson`
AUTO, HAZARD, BOOSTED, ONLINE = (
    "policies.auto",
    "forecast.online.hazard",
    "forecast.online.boosted",
    "forecast.online.online",
)
#: By name of the variant, the constant that is otherwise: module, name, value.
NUMBERS: dict[str, tuple[str, str, float]] = {
    "fresh 0": (AUTO, "FRESH", 0.0),
    "fresh 0.1": (AUTO, "FRESH", 0.1),
    "fresh 0.4": (AUTO, "FRESH", 0.4),
    "optimism 0": (ONLINE, "OPTIMISM", 0.0),
    "optimism 2": (ONLINE, "OPTIMISM", 2.0),
    "optimism 8": (ONLINE, "OPTIMISM", 8.0),
    "ridge 20": (HAZARD, "RIDGE", 20.0),
    "ridge 120": (HAZARD, "RIDGE", 120.0),
    "shrink 20": (BOOSTED, "SHRINK", 20.0),
}
#: By name of the variant, the columns that are left out.
LEFT_OUT: dict[str, Sequence[str]] = {
    "without how lately": own.NAMES,
    "without days of groups": DAYS,
    "without pattern": DAYS[4:],
    "without like pages": LIKE,
    "without the copy": copy.NAMES,
    "without any column": NAMES,
}
MODELS = ("linear alone", "trees alone")
IN_ONE = "in one part"
CLASSIC = ("oldest", "poisson")
CHOICES = ["auto", *NUMBERS]
TIGHT = ("ota_contrib", "1%")  #: where pages that flap cost most freshness
AT_STAKE = [v for v in NUMBERS if v.startswith(("fresh", "optimism"))]
TRIED = [*CLASSIC, *CHOICES, *LEFT_OUT, *MODELS, IN_ONE]

HEAD = f"""# How `auto` was chosen

Made by `python -m benchmarks.choose` from the traces in `../shared/traces`: {PARTS} parts a day, two
cycles of warm-up, ties by seeded hash. *Captured* is the way from oldest-first to the clairvoyant limit of
the change ratio, in %. Cells: captured / change ratio / freshness. The last two columns are
the least that any trace is fresher than with oldest-first, and than with `poisson`.
"""
MAIN = f"""## Against oldest-first and `poisson`

Means over {SEEDS} orders of ties; {MORE} where there are fewer than {SMALL} pages, for then a few fetches are
all, and chance decides.
"""
OTHERS = f"""## With other numbers

{BUDGET} a day, one order of ties ({MORE} below {SMALL} pages); differences below three points are noise.
`auto` has fresh {auto.FRESH:g}, optimism {online.OPTIMISM:g}, ridge {hazard.RIDGE:g}, shrink {boosted.SHRINK:g}.
"""
WITHOUT = """## Without each ingredient

The same with columns that say nothing (but for the rate of each page, which always counts), with one of the
two models, and in one part a day. *How lately* is how lately and densely in time a page was seen to change.
"""
LEFT = f"""## Leaving each trace out in turn

The variant that captures most on the other traces, of those above that lose no more than {SLACK} of freshness
there to oldest-first and to `poisson`; and what it does on the trace left out.
"""
HARDEST = f"""This rule sees {BUDGET} a day alone, where the best are apart by less than noise. It does not see
{TIGHT[0]} at {TIGHT[1]} a day, where pages flap and freshness is lost first, and which decided between them (means
over {SEEDS} orders of ties):
"""
MADE = f"""## Worlds

{WORLD["pages"]} pages, {WORLD["days"]} days, {BUDGET} a day, means over {SEEDS} orders of ties: change ratio / freshness.
Where pages are independent (`poisson`) there is nothing to learn from others.
"""
Cell = dict[str, float]
Cells = dict[tuple[str, str, str], Cell]


def altered(variant: str) -> ExitStack:
    """`auto` as that variant, while the stack is open."""
    stack = ExitStack()
    if variant in NUMBERS:
        module, name, value = NUMBERS[variant]
        stack.enter_context(patch.object(import_module(f"recrawl.{module}"), name, value))
    if variant in LEFT_OUT:
        gone = np.array([NAMES.index(name) for name in LEFT_OUT[variant]])
        stack.enter_context(
            patch.object(FeatureState, "_columns", _blank(FeatureState._columns, gone))
        )
        moving = _blank(FeatureState._moving, gone[gone < MOVING])
        stack.enter_context(patch.object(FeatureState, "_moving", moving))
    if variant == "linear alone":
        stack.enter_context(patch.object(learner, "FOREST", np.inf))
    if variant == "trees alone":
        stack.enter_context(patch.object(learner, "_log_ratio", _trees_alone))
    return stack


def _blank(columns: Any, gone: IntArray) -> Any:
    def blanked(*args: Any) -> Any:
        found = columns(*args)
        found[gone] = 0.0  # what never varies says nothing
        return found

    return blanked


def _trees_alone(linear: Any, trees: Any, columns: Any) -> Any:
    return (linear if trees is None else trees).log_ratio(columns)


def run(trace: Any, variant: str, budget: str, seed: int) -> Cell:
    """The metrics of one replay."""
    policy = variant if variant in CLASSIC else "auto"
    parts = 1 if variant == IN_ONE else PARTS
    with altered(variant):
        cycles = replay(trace, policy, units.budget(budget), parts=parts, seed=seed)
    limit = clairvoyant(trace, cycles, cycles.spent())["change_ratio"]
    return summary(daily(trace, cycles)) | {"limit": limit}


def cells(folder: Path, path: Path) -> Cells:
    """All that is asked of one trace, made or read: by trace, budget and variant."""
    trace = open_trace(path)

    def one(variant: str, budget: str, seed: int) -> Cell:
        file = folder / f"{path.name}-{budget}-{variant}-{seed}.json".replace(" ", "_")
        if not file.exists():
            file.write_text(json.dumps(run(trace, variant, budget, seed)))
            print(file.stem, file=sys.stderr, flush=True)
        kept: Cell = json.loads(file.read_text())
        return kept

    def mean(variant: str, budget: str, seeds: int) -> Cell:
        found = [one(variant, budget, seed) for seed in range(seeds)]
        return {name: float(np.mean([run[name] for run in found])) for name in found[0]}

    orders, once = (MORE, MORE) if len(trace) < SMALL else (SEEDS, 1)
    many = BUDGETS if path.parent == TRACES else (BUDGET,)
    asked = {(b, v): mean(v, b, orders) for b in many for v in (*CLASSIC, "auto")}
    if path.name == TIGHT[0]:
        asked |= {(TIGHT[1], v): mean(v, TIGHT[1], SEEDS) for v in AT_STAKE}
    if path.parent == TRACES:  # one order of ties for all that is compared with each other
        asked |= {(f"{BUDGET} once", v): mean(v, BUDGET, once) for v in TRIED}
    return {(path.name, *key): cell for key, cell in asked.items()}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "choosing")
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(path.parent for path in TRACES.glob("*/versions.parquet"))
    if not paths:
        sys.exit(f"No traces in {TRACES}; {PAGE} stays as it is.")
    for name in WORLDS:
        if not (folder / name).exists():
            write(registry.make("world", name).make(**WORLD), folder / name)
    with get_context("spawn").Pool(2) as pool:
        tasks = [(folder, path) for path in (*paths, *(folder / name for name in WORLDS))]
        found = {k: c for part in pool.starmap(cells, tasks, chunksize=1) for k, c in part.items()}
    PAGE.write_text(page(found, [path.name for path in paths]))


def page(found: Cells, traces: list[str]) -> str:
    lines = [HEAD, MAIN]
    for budget in BUDGETS:
        lines += [f"### {budget} a day", "", *table(found, traces, budget, ("poisson", "auto")), ""]
    once = f"{BUDGET} once"
    lines += [OTHERS, *table(found, traces, once, ("poisson", *CHOICES)), ""]
    lines += [LEFT, *left_out(found, traces, once), ""]
    lines += [HARDEST, *table(found, TIGHT[:1], TIGHT[1], ("poisson", "auto", *AT_STAKE)), ""]
    lines += [WITHOUT, *table(found, traces, once, ("auto", *LEFT_OUT, *MODELS, IN_ONE)), ""]
    lines += [MADE, f"| | {' | '.join(WORLDS)} |", "|---" * (len(WORLDS) + 1) + "|"]
    for variant in (*CLASSIC, "auto"):
        row = [found[world, BUDGET, variant] for world in WORLDS]
        said = " | ".join(f"{cell['change_ratio']:.3f} / {cell['freshness']:.3f}" for cell in row)
        lines.append(f"| `{variant}` | {said} |")
    return "\n".join([*lines, ""])


def table(found: Cells, traces: Sequence[str], budget: str, variants: Iterable[str]) -> list[str]:
    """A row a variant, a column a trace."""
    names = " | ".join(traces)
    lines = [
        f"| | captured | {names} | than oldest | than poisson |",
        "|---" * (len(traces) + 4) + "|",
    ]
    for variant in variants:
        row = [found[trace, budget, variant] for trace in traces]
        got = [captured(found, trace, budget, variant) for trace in traces]
        said = " | ".join(
            f"{100 * part:.0f} / {cell['change_ratio']:.3f} / {cell['freshness']:.3f}"
            for part, cell in zip(got, row, strict=True)
        )
        fresher = " | ".join(f"{fresh:+.4f}" for fresh in than(found, traces, budget, variant))
        lines.append(f"| {variant} | {100 * np.mean(got):.1f} | {said} | {fresher} |")
    return lines


def left_out(found: Cells, traces: list[str], budget: str) -> list[str]:
    lines = ["| left out | chosen | there | `auto` there |", "|---|---|---|---|"]
    for trace in traces:
        rest = [other for other in traces if other != trace]
        fit = [v for v in CHOICES if min(than(found, rest, budget, v)) >= -SLACK] or CHOICES
        best = max(fit, key=lambda v: np.mean([captured(found, t, budget, v) for t in rest]))
        there = [f"{100 * captured(found, trace, budget, v):.0f}" for v in (best, "auto")]
        lines.append(f"| {trace} | {best} | {' | '.join(there)} |")
    return lines


def than(found: Cells, traces: Sequence[str], budget: str, variant: str) -> list[float]:
    """How much fresher than with each classic policy, where it is least."""
    return [
        min(
            found[trace, budget, variant]["freshness"] - found[trace, budget, base]["freshness"]
            for trace in traces
        )
        for base in CLASSIC
    ]


def captured(found: Cells, trace: str, budget: str, variant: str) -> float:
    base, one = found[trace, budget, "oldest"]["change_ratio"], found[trace, budget, variant]
    room = one["limit"] - base
    return (one["change_ratio"] - base) / room if room > 0 else 0.0


if __name__ == "__main__":
    main()
