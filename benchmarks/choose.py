"""How were the few numbers of `auto` chosen, and what does each ingredient bring?

    python -m benchmarks.choose FOLDER TRACE... [--only NAME,...] [--budgets 1%,2%,5%] [--seeds 3]

Replays every variant on every trace, prints what was tried and how often, and which variant one
would choose leaving each trace out in turn: the choice may not hang on any one of them. Runs are
kept in FOLDER and not made twice.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from recrawl import units
from recrawl.features import copy, own
from recrawl.forecast.online import learner
from recrawl.forecast.online.watch import AROUND, DAYS, NAMES
from recrawl.lab.bounds import clairvoyant
from recrawl.lab.delays import links_found
from recrawl.lab.metrics import daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.trace import trace_name
from recrawl.lab.traces import open_trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARTS = 8
ONLINE, HAZARD, BOOSTED = (f"forecast.online.{part}" for part in ("online", "hazard", "boosted"))
#: By name of the variant, the constants that are otherwise: (module, name) -> value.
NUMBERS: dict[str, dict[tuple[str, str], float]] = {
    "auto": {},
    "optimism 0": {(ONLINE, "OPTIMISM"): 0.0},
    "optimism 2": {(ONLINE, "OPTIMISM"): 2.0},
    "optimism 8": {(ONLINE, "OPTIMISM"): 8.0},
    "ridge 20": {(HAZARD, "RIDGE"): 20.0},
    "ridge 120": {(HAZARD, "RIDGE"): 120.0},
    "shrink 20": {(BOOSTED, "SHRINK"): 20.0},
}
#: By name of the variant, the columns that are left out.
LEFT_OUT: dict[str, Sequence[str]] = {
    "without own past": own.NAMES,
    "without days of groups": DAYS,
    "without pattern": DAYS[4:],
    "without like pages": [name for name in AROUND if name.startswith("like")],
    "without linked pages": [name for name in AROUND if name.startswith("linked")],
    "without neighbours": AROUND,
    "without the copy": copy.NAMES,
    "without any column": NAMES,
}
MODELS = ("linear alone", "trees alone")
CLASSIC = ("oldest", "poisson")
TRIED = [*CLASSIC, *NUMBERS, *LEFT_OUT, *MODELS, "in one part"]


def altered(variant: str) -> ExitStack:
    """`auto` as that variant, while the stack is open."""
    stack = ExitStack()
    for (module, name), value in NUMBERS.get(variant, {}).items():
        stack.enter_context(patch.object(import_module(f"recrawl.{module}"), name, value))
    if variant in LEFT_OUT:
        gone = [NAMES.index(name) for name in LEFT_OUT[variant]]
        stack.enter_context(patch.object(learner, "_fit", _without(gone)))
    if variant == "linear alone":
        stack.enter_context(patch.object(learner, "FOREST", np.inf))
    if variant == "trees alone":
        stack.enter_context(patch.object(learner, "_log_ratio", _trees_alone))
    return stack


def _without(gone: list[int]) -> Any:
    fit = learner._fit

    def fitted(columns: Any, *rest: Any) -> Any:
        columns = columns.copy()
        columns[gone] = 0.0  # what never varies says nothing
        return fit(columns, *rest)

    return fitted


def _trees_alone(linear: Any, trees: Any, columns: Any) -> Any:
    return (linear if trees is None else trees).log_ratio(columns)


def run(
    path: Path, variant: str, budget: str, seed: int, opened: dict[Path, Any]
) -> dict[str, Any]:
    """The metrics of one replay."""
    if path not in opened:
        opened[path] = open_trace(path)
    trace = opened[path]
    policy = variant if variant in CLASSIC else "auto"
    parts = 1 if variant == "in one part" else PARTS
    with altered(variant):
        cycles = replay(trace, policy, units.budget(budget), parts=parts, seed=seed)
    limit = clairvoyant(trace, cycles, cycles.spent())["change_ratio"]
    return summary(daily(trace, cycles, None)) | links_found(trace, cycles) | {"limit": limit}


def runs(options: argparse.Namespace) -> Iterator[tuple[str, str, str, list[dict[str, Any]]]]:
    """Every trace, variant and budget with its runs, one a seed; made or read."""
    for path in options.traces:
        opened: dict[Path, Any] = {}
        for budget in options.budgets.split(","):
            for variant in dict.fromkeys([*CLASSIC, *options.only.split(",")]):
                done = []
                for seed in range(options.seeds):
                    name = f"{trace_name(path)}-{budget}-{variant}-{seed}.json".replace(" ", "_")
                    file = options.folder / name
                    if not file.exists():
                        file.write_text(json.dumps(run(path, variant, budget, seed, opened)))
                    done.append(json.loads(file.read_text()))
                yield trace_name(path), variant, budget, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("traces", type=Path, nargs="+")
    parser.add_argument("--only", default=",".join(TRIED))
    parser.add_argument("--budgets", default="2%")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[tuple[str, str], dict[str, float]]] = {}
    for trace, variant, budget, done in runs(options):
        means = {key: float(np.mean([one[key] for one in done])) for key in done[0]}
        found.setdefault(budget, {})[trace, variant] = means
    for budget, cells in found.items():
        table(budget, cells, options.seeds)


def table(budget: str, cells: dict[tuple[str, str], dict[str, float]], seeds: int) -> None:
    """Captured by trace, and the choice when each is left out."""
    traces = list(dict.fromkeys(trace for trace, _ in cells))
    variants = [v for v in dict.fromkeys(variant for _, variant in cells) if v != "oldest"]
    captured = np.array([[_captured(cells, t, v) for t in traces] for v in variants])
    print(f"\n{budget} a day, {PARTS} parts, {len(variants)} variants × {seeds} seeds:")
    print(
        "captured = (change ratio - oldest's) / (limit - oldest's); fresher than oldest, than poisson: least"
    )
    print(f"| variant | mean | fresher | than poisson | {' | '.join(traces)} |")
    print("|---" * (len(traces) + 4) + "|")
    for variant, row in zip(variants, captured, strict=True):
        than = [
            min(cells[t, variant]["freshness"] - cells[t, base]["freshness"] for t in traces)
            for base in CLASSIC
        ]
        shown = " | ".join(
            f"{100 * c:.0f} / {cells[t, variant]['change_ratio']:.4f} / {cells[t, variant]['freshness']:.4f}"
            for t, c in zip(traces, row, strict=True)
        )
        print(f"| {variant} | {100 * row.mean():.1f} | {than[0]:+.4f} | {than[1]:+.4f} | {shown} |")
    numbers = [i for i, v in enumerate(variants) if v in NUMBERS]
    if len(numbers) < 2 or len(traces) < 2:
        return
    for out, trace in enumerate(traces):
        rest = np.delete(captured[numbers], out, axis=1).mean(axis=1)
        best = numbers[int(np.argmax(rest))]
        print(f"leaving out {trace}: {variants[best]}, {100 * captured[best, out]:.0f} there")


def _captured(cells: dict[tuple[str, str], dict[str, float]], trace: str, variant: str) -> float:
    base, one = cells[trace, "oldest"]["change_ratio"], cells[trace, variant]
    room = one["limit"] - base
    return (one["change_ratio"] - base) / room if room > 0 else 0.0


if __name__ == "__main__":
    main()
