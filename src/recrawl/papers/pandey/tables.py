"""The results of both protocols as Markdown tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import spearmanr

from recrawl.papers.pandey.experiment import MODES, POLICIES, halves, needed

if TYPE_CHECKING:
    from recrawl.papers.pandey.data import SearchStudy
    from recrawl.papers.pandey.experiment import RefreshRun

LEVELS: Final = (0.5, 0.8, 0.95, 0.97, 0.99)
RIVAL = "staleness"
NAMES: Final = {
    "user-centric": "user-centric (shrunk index)",
    "raw": "user-centric (raw, the paper's)",
    "raw approximated": "the same, gains approximated",
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
    """How well one half of the cycles predicts the other."""
    first, second = np.array([pair[1:] for pair in halves(study)]).reshape(-1, 2).T
    new = second[first <= 0].sum() / second.sum() if second.sum() > 0 else np.nan
    agree = spearmanr(study.gain, study.estimated_gain).statistic
    return (
        f"Of the gain of the second half {new:.0%} falls on pages with none in the first; "
        f"rank correlation of a page's gain in both {spearmanr(first, second).statistic:.2f}. "
        f"Gains as approximated while indexing against exact ones, all terms of queries "
        f"together: {agree:.2f}."
    )
