"""Replays the classic policies on real traces and writes docs/results.md: `make results`."""

from __future__ import annotations

import sys
from pathlib import Path

from recrawl.lab.compare import Comparison, compare_files, with_baseline

HERE = Path(__file__).parent
POLICIES = ["random", "poisson", "freshness", "age", "cho", "tx", "nad-text", "sad-text"]
POLICIES += ["aad-text", "gad-text"]
BUDGETS = ["1%", "2%", "5%"]
SEEDS = 3

HEAD = f"""# Results

Made by `make results` from the traces in `../shared/traces`: pages alive over the whole window, one
cycle a day, two cycles of warm-up, ties by seeded hash, means over {SEEDS} orders of ties. In each
cell: change ratio, freshness, new links a fetch. *Clairvoyant* is the most any schedule could
reach, for change ratio and (greedily) for new links. Change ratio and freshness disagree: look at
both.
"""


def table(found: Comparison, budget: str) -> list[str]:
    """A row a policy, a column a trace."""
    names = list(found.bounds)
    lines = [f"## {budget} of the pages a day", "", f"| | {' | '.join(names)} |"]
    lines.append("|---" * (len(names) + 1) + "|")
    limits = [found.bounds[name][budget] for name in names]
    cells = [f"{b['change_ratio']:.3f} / – / {b['new_links_per_fetch']:.2f}" for b in limits]
    lines.append(f"| *clairvoyant* | {' | '.join(cells)} |")
    for policy in with_baseline(POLICIES):
        runs = [r for r in found.runs if (r["policy"], r["budget"]) == (policy, budget)]
        cells = [
            f"{r['change_ratio']:.3f} / {r['freshness']:.3f} / {r['new_links_per_fetch']:.2f}"
            for r in runs
        ]
        lines.append(f"| `{policy}` | {' | '.join(cells)} |")
    return [*lines, ""]


def main() -> None:
    folder = HERE.parent.parent / "shared" / "traces"
    paths = sorted(path.parent for path in folder.glob("*/versions.parquet"))
    if not paths:
        sys.exit(f"No traces in {folder}; docs/results.md stays as it is.")
    found = compare_files(paths, POLICIES, BUDGETS, opening={}, seeds=SEEDS)
    lines = [HEAD]
    for budget in BUDGETS:
        lines += table(found, budget)
    (HERE / "results.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
