"""Replays policies on real traces and writes docs/results.md: `make results`.

Runs are kept in the folder `results` and not made twice: empty it after a change of a policy.
"""

from __future__ import annotations

import json
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from recrawl import units
from recrawl.lab.bounds import clairvoyant
from recrawl.lab.delays import links_found
from recrawl.lab.metrics import daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.traces import open_trace

HERE = Path(__file__).parent
TRACES = HERE.parent.parent / "shared" / "traces"
KEPT = Path("results")
CLASSIC = ["oldest", "random", "poisson", "freshness", "age", "cho", "tx", "nad-text"]
LEARNED = ["auto", "links", "lbla"]
BUDGETS = ["1%", "2%", "5%"]
SEEDS = 1
Cell = dict[str, float]

HEAD = f"""# Results

Made by `make results` from the traces in `../shared/traces`: pages alive over the whole window, one
cycle a day in one part, two cycles of warm-up, ties by seeded hash (orders of ties: {SEEDS}).
*Limit* is the most any schedule could reach for the change ratio, and for links what one gets who
takes each day the pages that have most new ones. Change ratio and freshness disagree, and so do
links in all and links in time: look at both.
"""
CHANGES = """The change ratio / freshness / captured: how much of the way from oldest-first to the
limit of the change ratio, in %."""
LINKS = """New links, in % of the limit: all / at most 50 of a visit / found within seven days of
their coming, of all that came. One list that grows by a thousand links can be an eighth of all a
trace has, so that the first of the three hangs on chance."""


def cell(path: Path, policy: str, budget: str, seed: int, opened: dict[Path, Any]) -> Cell:
    """The metrics of one replay, and the limits."""
    file = KEPT / f"{path.name}-{policy}-{budget}-{seed}.json"
    if not file.exists():
        if path not in opened:
            opened[path] = open_trace(path)
        trace = opened[path]
        cycles = replay(trace, policy, units.budget(budget), seed=seed)
        limits = clairvoyant(trace, cycles, cycles.spent())
        found = summary(daily(trace, cycles)) | links_found(trace, cycles)
        found |= {f"limit {name}": value for name, value in limits.items()}
        file.write_text(json.dumps(found))
    kept: Cell = json.loads(file.read_text())
    return kept


def row(path: Path, policy: str, budget: str, opened: dict[Path, Any]) -> Cell:
    """Means over the orders of ties."""
    cells = [cell(path, policy, budget, seed, opened) for seed in range(SEEDS)]
    return {name: float(np.mean([one[name] for one in cells])) for name in cells[0]}


def all_rows(path: Path) -> dict[tuple[str, str], Cell]:
    """Of one trace, by budget and policy."""
    opened: dict[Path, Any] = {}
    return {
        (budget, policy): row(path, policy, budget, opened)
        for budget in BUDGETS
        for policy in CLASSIC + LEARNED
    }


def changes(cell: Cell, oldest: Cell) -> str:
    begin, limit = oldest["change_ratio"], oldest["limit change_ratio"]
    captured = 100 * (cell["change_ratio"] - begin) / max(limit - begin, 1e-300)
    return f"{cell['change_ratio']:.3f} / {cell['freshness']:.3f} / {captured:.0f}"


def links(cell: Cell, oldest: Cell) -> str:
    del oldest
    names = ("new_links_per_fetch", "new_links_capped_per_fetch")
    shares = [cell[name] / max(cell[f"limit {name}"], 1e-300) for name in names]
    return " / ".join(f"{100 * share:.1f}" for share in (*shares, cell["links_within_7d"]))


def table(found: dict[str, dict[tuple[str, str], Cell]], budget: str, shown: Any) -> list[str]:
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
    (HERE / "results.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
