"""Replays policies on real traces and writes docs/results.md: `make results`.

Runs are kept in the folder `results` and not made twice: empty it after a change of a policy.
"""

from __future__ import annotations

import json
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl import units
from recrawl.lab.bounds import clairvoyant
from recrawl.lab.delays import links_found
from recrawl.lab.metrics import daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.statistics import fold_test
from recrawl.lab.traces import open_trace

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace

HERE = Path(__file__).parent
TRACES = HERE.parent.parent / "shared" / "traces"
KEPT = Path("results")
CLASSIC = ["oldest", "random", "poisson", "freshness", "age", "cho", "tx", "nad-text"]
LEARNED = ["auto", "links", "lbla"]
BUDGETS = ["1%", "2%", "5%"]
TENTH, FEW = "10%", 500  #: what experts are given a day, of so many pages of a trace
SEEDS = 3
Cell = dict[str, float]
Cells = dict[tuple[str, str], Cell]  #: by budget and policy
#: Each published method on its own metric: who it is, ours, its name here, the metric, budgets.
RIVALS = [
    ("GP4C's evolved function (Santos 2013)", "auto", "tx", "change_ratio", BUDGETS),
    ("NAD (Santos 2013)", "auto", "nad-text", "change_ratio", BUDGETS),
    ("experts (Radinsky & Bennett 2013)", "auto", "experts", "freshness", [TENTH]),
    ("experts (Radinsky & Bennett 2013)", "auto", "experts", "change_ratio", [TENTH]),
    ("LBLA (Dang et al. 2021)", "links", "lbla", "new_links_capped_per_fetch", BUDGETS),
    ("LBLA (Dang et al. 2021)", "links", "lbla", "links_within_7d", BUDGETS),
    ("oldest-first", "auto", "oldest", "freshness", BUDGETS),
    ("Poisson", "auto", "poisson", "freshness", BUDGETS),
    ("Poisson", "auto", "poisson", "change_ratio", BUDGETS),
]

HEAD = f"""# Results

Made by `make results` from the traces in `../shared/traces`: pages alive over the whole window, one
cycle a day in one part, two cycles of warm-up, ties by seeded hash (orders of ties: {SEEDS}).
*Limit* is the most any schedule could reach for the change ratio, and for links what one gets who
takes each day the pages that have most new ones. Change ratio and freshness disagree, and so do
links in all and links in time: look at both.
"""
CHANGES = """The change ratio / freshness / captured: how much of the way from oldest-first to the
limit of the change ratio, in %."""
AGAINST = f"""Ours minus theirs on the metric of each: the mean over traces and budgets with its
95 % interval, the traces being the sample (Student's t); in how many (trace, budget) ours is ahead,
and where it is furthest behind. Experts get {TENTH} a day, as in their paper, of {FEW} pages of
each trace, as many as can be waited for. New links a fetch are in shares of the limit. For new
links `auto` is `links`, and for search `user-centric` ([Pandey & Olston](papers/pandey.md))."""
LINKS = """New links, in % of the limit: all / at most 50 of a visit / found within seven days of
their coming, of all that came. One list that grows by a thousand links can be an eighth of all a
trace has, so that the first of the three hangs on chance."""


def cell(path: Path, policy: str, budget: str, seed: int, opened: dict[Path, Trace]) -> Cell:
    """The metrics of one replay, and the limits."""
    file = KEPT / f"{path.name}-{policy}-{budget}-{seed}.json"
    if not file.exists():
        if path not in opened:
            opened[path] = open_trace(path)
        trace = _few(opened[path]) if budget == TENTH else opened[path]
        cycles = replay(trace, policy, units.budget(budget), seed=seed)
        limits = clairvoyant(trace, cycles, cycles.spent())
        found = summary(daily(trace, cycles)) | links_found(trace, cycles)
        found |= {f"limit {name}": value for name, value in limits.items()}
        file.write_text(json.dumps(found))
    kept: Cell = json.loads(file.read_text())
    return kept


def _few(trace: Trace) -> Trace:
    """Some of the pages, drawn at random: the experts of all would take hours."""
    drawn = np.random.default_rng(0).permutation(len(trace))
    return trace.take(drawn < FEW)


def row(path: Path, policy: str, budget: str, opened: dict[Path, Trace]) -> Cell:
    """Means over the orders of ties."""
    cells = [cell(path, policy, budget, seed, opened) for seed in range(SEEDS)]
    return {name: float(np.mean([one[name] for one in cells])) for name in cells[0]}


def all_rows(path: Path) -> Cells:
    """Of one trace."""
    opened: dict[Path, Trace] = {}
    asked = [(budget, policy) for budget in BUDGETS for policy in CLASSIC + LEARNED]
    asked += [(b, who) for _, *both, _, budgets in RIVALS for b in budgets for who in both]
    return {key: row(path, key[1], key[0], opened) for key in dict.fromkeys(asked)}


def changes(cell: Cell, oldest: Cell) -> str:
    begin, limit = oldest["change_ratio"], oldest["limit change_ratio"]
    captured = 100 * (cell["change_ratio"] - begin) / max(limit - begin, 1e-300)
    return f"{cell['change_ratio']:.3f} / {cell['freshness']:.3f} / {captured:.0f}"


def links(cell: Cell, oldest: Cell) -> str:
    del oldest
    names = ("new_links_per_fetch", "new_links_capped_per_fetch", "links_within_7d")
    return " / ".join(f"{100 * of(cell, name):.1f}" for name in names)


def rivals(found: dict[str, Cells]) -> list[str]:
    """A row a published method."""
    lines = [
        "| ours | theirs | metric | ours − theirs | ahead | furthest behind |",
        "|---" * 6 + "|",
    ]
    for who, ours, theirs, metric, budgets in RIVALS:
        both = np.array(
            [
                [[of(rows[b, one], metric) for b in budgets] for one in (ours, theirs)]
                for rows in found.values()
            ]
        )
        gap = both[:, 0] - both[:, 1]  # a row a trace, a column a budget
        mean = fold_test(*both.mean(axis=2).T)
        trace, budget = np.unravel_index(gap.argmin(), gap.shape)
        least = f"{gap.min():+.3f}, {list(found)[trace]} {budgets[budget]}"
        lines.append(
            f"| `{ours}` | {who}, `{theirs}` | {metric.replace('_', ' ')} | {mean.mean:+.3f} "
            f"({mean.low:+.3f} to {mean.high:+.3f}) | {(gap > 0).sum()} of {gap.size} "
            f"| {least if gap.min() < 0 else 'nowhere'} |"
        )
    return [*lines, ""]


def of(cell: Cell, metric: str) -> float:
    """A metric; links as a share of the limit."""
    return cell[metric] / (max(cell[f"limit {metric}"], 1e-300) if "per_fetch" in metric else 1.0)


def table(found: dict[str, Cells], budget: str, shown: Any) -> list[str]:
    """A row a policy, a column a trace."""
    lines = [f"| | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|"]
    if shown is changes:
        limits = [rows[budget, "oldest"]["limit change_ratio"] for rows in found.values()]
        lines.append(f"| *limit* | {' | '.join(f'{limit:.3f} / – / 100' for limit in limits)} |")
    for policy in CLASSIC + LEARNED:
        cells = [shown(rows[budget, policy], rows[budget, "oldest"]) for rows in found.values()]
        lines.append(f"| `{policy}` | {' | '.join(cells)} |")
    return [*lines, ""]


def main() -> None:
    paths = sorted(path.parent for path in TRACES.glob("*/versions.parquet"))
    if not paths:
        sys.exit(f"No traces in {TRACES}; docs/results.md stays as it is.")
    KEPT.mkdir(exist_ok=True)
    with get_context("spawn").Pool(2) as pool:
        rows = pool.map(all_rows, paths, chunksize=1)
    found = {path.name: of_trace for path, of_trace in zip(paths, rows, strict=True)}
    lines = [HEAD]
    for title, text, shown in (("Changes", CHANGES, changes), ("New links", LINKS, links)):
        lines += [f"## {title}", "", text, ""]
        for budget in BUDGETS:
            lines += [f"### {budget} of the pages a day", "", *table(found, budget, shown)]
    lines += ["## Against each published method", "", AGAINST, "", *rivals(found)]
    (HERE / "results.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
