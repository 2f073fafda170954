"""Replays policies on real traces and writes docs/results.md: `make results`.

Finished replays are kept in the folder `results`. Empty it after a change of a policy.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.replays import (
    PROCESSES,
    VERSIONS,
    Scores,
    mean,
    opened,
    report,
    scores,
    trace_folders,
)
from recrawl.lab.bounds import captured
from recrawl.lab.experiment import ExperimentTask, digest, run_experiment
from recrawl.lab.statistics import fold_test

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path("docs/results.md")
FOLDER = Path("results")
CLASSIC = ["oldest", "random", "poisson", "freshness", "age", "cho", "tx", "nad-text"]
CLASSIC += ["nutch-adaptive", "stormcrawler-adaptive", "manifoldcf-dynamic"]
LEARNED = ["auto", "links", "lbla"]
BUDGETS = ["1%", "2%", "5%"]
EXPERTS_BUDGET, EXPERTS_PAGES = "10%", 500  #: what experts get a day, and pages of a trace
PAPER_EXPERTS = "coin:by=experts"  #: the crawl of the paper; `experts` is ours
SEEDS = 3
Table = dict[tuple[str, str], Scores]  #: by budget and policy
#: Each method on its own metric: who it is, ours, its name here, the metric, budgets.
RIVALS = [
    ("GP4C's evolved function (Santos 2013)", "auto", "tx", "change_ratio", BUDGETS),
    ("NAD (Santos 2013)", "auto", "nad-text", "change_ratio", BUDGETS),
    ("experts (Radinsky & Bennett 2013)", "auto", PAPER_EXPERTS, "freshness", [EXPERTS_BUDGET]),
    ("experts (Radinsky & Bennett 2013)", "auto", PAPER_EXPERTS, "change_ratio", [EXPERTS_BUDGET]),
    ("our trees on experts", "auto", "experts", "freshness", [EXPERTS_BUDGET]),
    ("our trees on experts", "auto", "experts", "change_ratio", [EXPERTS_BUDGET]),
    ("LBLA (Dang et al. 2021)", "links", "lbla", "new_links_capped_per_fetch", BUDGETS),
    ("LBLA (Dang et al. 2021)", "links", "lbla", "links_within_7d", BUDGETS),
    ("oldest-first", "auto", "oldest", "freshness", BUDGETS),
    ("Poisson", "auto", "poisson", "freshness", BUDGETS),
    ("Poisson", "auto", "poisson", "change_ratio", BUDGETS),
]

HEAD = f"""# Results

Made by `make results` from the traces in `../shared/traces`: pages alive over the whole window, one
cycle a day in one part, two cycles of warm-up, ties by seeded hash (orders of ties: {SEEDS}).
*Limit* is the most any schedule could reach for the change ratio; for links it is the result of
visiting, each day, the pages with the most new ones. Change ratio and freshness disagree, and so do
all links and links found in time: look at both.
"""
CHANGES = """Change ratio / freshness / captured: how far a policy gets from oldest-first (0) to the limit of the
change ratio (100)."""
AGAINST = f"""Ours minus theirs, on the metric of each method: the mean over traces and budgets with its
95 % interval (Student's t over traces), in how many pairs of trace and budget ours is ahead, and
where it is furthest behind. Experts get {EXPERTS_BUDGET} a day, as in their paper, of {EXPERTS_PAGES} pages of
each trace, since more would take too long; `{PAPER_EXPERTS}` is the crawl of the paper, `experts`
our own use of related pages. New links per fetch are shares of the limit. For new
links `auto` is `links`, and for search `user-centric` ([Pandey & Olston](papers/pandey.md))."""
LINKS = """New links: all, in % of the limit / at most 50 of a visit, in % of the limit / the share of all
added links that was found within seven days. One list that grows by a thousand links can be an
eighth of all links of a trace, so the first number depends on chance."""


def replay_scores(_: None, folder: Path, policy: str, budget: str, seed: int) -> Scores:
    """One replay; with the budget of the experts on few pages, as all would take them hours."""
    trace = opened(folder)
    if budget == EXPERTS_BUDGET:
        drawn = np.random.default_rng(0).permutation(len(trace))
        trace = trace.take(drawn < EXPERTS_PAGES)
    return scores(trace, policy, budget, seed=seed)


def tables(folders: list[Path]) -> dict[str, Table]:
    """By trace the scores of all that is asked, means over the orders of ties."""
    cells = [(budget, policy) for budget in BUDGETS for policy in CLASSIC + LEARNED]
    cells += [(b, who) for _, *both, _, budgets in RIVALS for b in budgets for who in both]
    cells = list(dict.fromkeys(cells))
    tasks = {
        (folder, *cell): [
            ExperimentTask(
                f"{folder.name}-{cell[1]}-{cell[0]}-{seed}",
                digest((folder / VERSIONS).stat().st_size, EXPERTS_PAGES),
                replay_scores,
                (folder, cell[1], cell[0], seed),
            )
            for seed in range(SEEDS)
        ]
        for folder in folders
        for cell in cells
    }
    results = run_experiment(
        [task for group in tasks.values() for task in group],
        FOLDER,
        processes=PROCESSES,
        progress=report,
    )
    return {
        folder.name: {
            cell: mean([results[task.key] for task in tasks[folder, *cell]]) for cell in cells
        }
        for folder in folders
    }


def show_changes(cell: Scores, oldest: Scores) -> str:
    way = captured(cell["change_ratio"], oldest["change_ratio"], oldest["limit change_ratio"])
    share = "–" if way is None else f"{100 * way:.0f}"
    return f"{cell['change_ratio']:.3f} / {cell['freshness']:.3f} / {share}"


def show_links(cell: Scores, _: Scores) -> str:
    names = ("new_links_per_fetch", "new_links_capped_per_fetch", "links_within_7d")
    return " / ".join(f"{100 * metric_of(cell, name):.1f}" for name in names)


def metric_of(cell: Scores, metric: str) -> float:
    """A metric; links as a share of the limit."""
    limit = max(cell[f"limit {metric}"], 1e-300) if "per_fetch" in metric else 1.0
    return cell[metric] / limit


def rivals(traces: dict[str, Table]) -> list[str]:
    """A row for each method and metric."""
    lines = [
        "| ours | theirs | metric | ours − theirs | ahead | furthest behind |",
        "|---" * 6 + "|",
    ]
    for who, ours, theirs, metric, budgets in RIVALS:
        both = np.array(
            [
                [[metric_of(rows[b, one], metric) for b in budgets] for one in (ours, theirs)]
                for rows in traces.values()
            ]
        )
        gap = both[:, 0] - both[:, 1]  # a row for each trace, a column for each budget
        test = fold_test(*both.mean(axis=2).T)
        trace, budget = np.unravel_index(gap.argmin(), gap.shape)
        worst = f"{gap.min():+.3f}, {list(traces)[trace]} {budgets[budget]}"
        lines.append(
            f"| `{ours}` | {who}, `{theirs}` | {metric.replace('_', ' ')} | {test.mean:+.3f} "
            f"({test.low:+.3f} to {test.high:+.3f}) | {(gap > 0).sum()} of {gap.size} "
            f"| {worst if gap.min() < 0 else 'nowhere'} |"
        )
    return [*lines, ""]


def table(
    traces: dict[str, Table], budget: str, show: Callable[[Scores, Scores], str]
) -> list[str]:
    """A row for each policy, a column for each trace."""
    lines = [f"| | {' | '.join(traces)} |", "|---" * (len(traces) + 1) + "|"]
    if show is show_changes:
        limits = [rows[budget, "oldest"]["limit change_ratio"] for rows in traces.values()]
        lines.append(f"| *limit* | {' | '.join(f'{limit:.3f} / – / 100' for limit in limits)} |")
    for policy in CLASSIC + LEARNED:
        cells = [show(rows[budget, policy], rows[budget, "oldest"]) for rows in traces.values()]
        lines.append(f"| `{policy}` | {' | '.join(cells)} |")
    return [*lines, ""]


def page(traces: dict[str, Table]) -> str:
    lines = [HEAD]
    for title, text, show in (
        ("Changes", CHANGES, show_changes),
        ("New links", LINKS, show_links),
    ):
        lines += [f"## {title}", "", text, ""]
        for budget in BUDGETS:
            lines += [f"### {budget} of the pages a day", "", *table(traces, budget, show)]
    lines += ["## Against other methods", "", AGAINST, "", *rivals(traces)]
    return "\n".join(lines)


def main() -> None:
    PAGE.write_text(page(tables(trace_folders(PAGE))))


if __name__ == "__main__":
    main()
