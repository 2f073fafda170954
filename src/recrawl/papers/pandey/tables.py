"""The results of both protocols as Markdown tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.papers.pandey.experiment import MODES, POLICIES, needed
from recrawl.papers.pandey.forecasts import correlations, gains_of_halves, rank_correlation

if TYPE_CHECKING:
    from recrawl.model import FloatArray
    from recrawl.papers.pandey.data import SearchStudy
    from recrawl.papers.pandey.experiment import RefreshRun
    from recrawl.papers.pandey.overhead import BatchCost

LEVELS: Final = (0.5, 0.8, 0.95, 0.97, 0.99)
RIVAL = "staleness"
NAMES: Final = {
    "user-centric": "user-centric, as it ships",
    "user-centric frozen": "the same, not learning while tested",
    "raw": "the paper's: its estimate × age",
    "index exact": "upper bound: our index, exact gains",
    "raw exact": "upper bound: exact gains × age",
    "staleness": "staleness, best τ",
    "embarrassment": "embarrassment, best τ",
    "oldest": "oldest first",
}


def tables(name: str, study: SearchStudy, runs: list[RefreshRun]) -> str:
    """Markdown: the data, the way by budget, and the budget by way."""
    modes = [mode for mode in MODES if any(run.mode == mode for run in runs)]
    lines = [f"### {name}", "", _head(study, runs, modes), ""]
    for mode in modes:
        lines += [*_ways(runs, mode), ""]
    return "\n".join([*lines, *_needed(runs, modes), "", _forecast(study), ""])


def _head(study: SearchStudy, runs: list[RefreshRun], modes: list[str]) -> str:
    never = {mode: next(run.never for run in runs if run.mode == mode) for mode in modes}
    qualities = ", ".join(f"{quality:.4f} {mode}" for mode, quality in never.items())
    return (
        f"{study.pages:,} pages, {len(study.live) - 1} cycles, {len(study.page):,} changes of "
        f"pages; {study.queries:,} queries, {study.volume:.1%} of the workload. "
        f"Quality if nothing is refreshed: {qualities}."
    )


def _ways(runs: list[RefreshRun], mode: str) -> list[str]:
    """One row per policy, one column per budget."""
    shares = sorted({run.share for run in runs if run.mode == mode})
    lines = [
        f"| {mode}: way, by pages refreshed a cycle | {' | '.join(f'{s:.2%}' for s in shares)} |",
        "|---|" + "---|" * len(shares),
    ]
    for policy in POLICIES:
        own = {r.share: r for r in runs if (r.mode, r.policy) == (mode, policy)}
        if not own:
            continue
        cells = [_cell(own[share]) for share in shares]
        lines.append(f"| {NAMES[policy]} | {' | '.join(cells)} |")
    return lines


def _cell(run: RefreshRun) -> str:
    return f"{run.way:.3f}" + (f" ({run.tau:g})" if run.tau is not None else "")


def _needed(runs: list[RefreshRun], modes: list[str]) -> list[str]:
    """Refreshes a cycle that reach each level, and how many times as many the rival needs."""
    titles = [f"{mode} {level:.0%}" for mode in modes for level in LEVELS]
    lines = [
        f"| refreshes a cycle for | {' | '.join(titles)} |",
        "|---|" + "---|" * len(titles),
    ]
    for policy in POLICIES:
        cells = []
        for mode in modes:
            for level in LEVELS:
                own, other = (needed(runs, mode, p, level) for p in (policy, RIVAL))
                cells.append(_needs(own, other, rival=policy == RIVAL))
        lines.append(f"| {NAMES[policy]} | {' | '.join(cells)} |")
    return [*lines, "", "In brackets: how many times as many refreshes best-τ staleness needs."]


def _needs(own: float, other: float, *, rival: bool) -> str:
    if np.isnan(own):
        return "–"
    return f"{own:,.0f}" + ("" if rival or np.isnan(other) else f" ({other / own:.1f})")


def _forecast(study: SearchStudy) -> str:
    """How well one half of the cycles predicts the other, and how near estimated gains are."""
    early = study.cycle <= (len(study.live) - 1) // 2
    sums = [
        np.bincount(study.page[rows], study.gain[rows], study.pages) for rows in (early, ~early)
    ]
    late = sums[1].sum()
    new = sums[1][sums[0] <= 0].sum() / late if late > 0 else np.nan
    agree = rank_correlation(study.gain, study.estimated_gain)
    negative = float((study.estimated_gain < 0).mean()) if len(study.gain) else np.nan
    return (
        "Figure 3, gain a day by update, first half against second half, rank correlations. By the "
        f"paper's estimate: {_halves(study, study.estimated_gain)}. By exact gains: "
        f"{_halves(study, study.gain)}. The figure leaves out pages that are 0 in both halves, as "
        "the paper's does; that pulls the correlation down, because a page with a single gain has "
        f"0 in the other half. Of the exact gain of the second half {_known(new, '.0%')} falls on "
        "pages with none in the first. Estimated gains against exact ones, change by change: "
        f"{_known(agree)}; {_known(negative, '.0%')} of the estimates are below 0."
    )


def _halves(study: SearchStudy, gain: FloatArray) -> str:
    (all_pages, every), (some, either), (few, both) = correlations(
        *gains_of_halves(study, gain)
    ).values()
    return (
        f"{_known(every)} over all {all_pages:,} pages, {_known(either)} without those that are 0 "
        f"in both halves ({some:,} left), {_known(both)} over the {few:,} that are 0 in neither"
    )


def _known(value: float, form: str = ".2f") -> str:
    return "?" if np.isnan(value) else format(value, form).replace("-", "−")


def recency_table(name: str, runs: dict[str, list[RefreshRun]]) -> str:
    """Markdown: the way of the paper's priority, by which past refreshes count (footnote 4)."""
    shares = [run.share for run in next(iter(runs.values()))]
    lines = [
        f"| {name}, split: way, by pages refreshed a cycle | "
        f"{' | '.join(f'{share:.2%}' for share in shares)} |",
        "|---|" + "---|" * len(shares),
    ]
    for counted, own in runs.items():
        lines.append(f"| {counted} | {' | '.join(f'{run.way:.3f}' for run in own)} |")
    return "\n".join([*lines, ""])


def overhead_table(costs: list[BatchCost]) -> str:
    """Markdown: the seconds a batch takes to index, without and with measuring (Figure 2)."""
    lines = [
        "| batch | elapsed without / with, s | overhead | processor without / with, s | overhead |",
        "|---|---|---|---|---|",
    ]
    for cost in costs:
        times = [f"{a:.2f} / {b:.2f}" for a, b in (cost.elapsed, cost.processor)]
        shares = [f"{share:+.0%}".replace("-", "−") for share in cost.overheads]
        lines.append(
            f"| {cost.pages:,} pages, {cost.megabytes:.1f} MB | {times[0]} | {shares[0]} "
            f"| {times[1]} | {shares[1]} |"
        )
    return "\n".join([*lines, "", f"Machine: {costs[0].machine}.", ""])
