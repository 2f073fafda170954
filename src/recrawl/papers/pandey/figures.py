"""The paper's Figures 2, 3 and 4 with our numbers, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import extra
from recrawl.lab.charts import STYLE, _figure, _line, _svg, line_styles
from recrawl.papers.pandey.experiment import POLICIES
from recrawl.papers.pandey.forecasts import gains_of_halves

with extra("lab", "A figure"):
    import matplotlib as mpl
    from matplotlib.ticker import ScalarFormatter

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.model import FloatArray
    from recrawl.papers.pandey.data import SearchStudy
    from recrawl.papers.pandey.experiment import RefreshRun
    from recrawl.papers.pandey.overhead import BatchCost

MAX_DOTS = 600  #: more would look the same
NEARNESS = ("#1a1a1a", "#0072b2", "#e69f00", "#d55e00")  #: quarters by distance from the diagonal
EDGE = 0.3  #: where pages without gain in a half are drawn, as a share of the smallest gain


def figures(name: str, study: SearchStudy, runs: list[RefreshRun], folder: Path) -> list[Path]:
    """Write Figure 3, and Figure 4 for each mode; returns the files."""
    drawn = {"figure-3": forecast(name, *gains_of_halves(study, study.estimated_gain))}
    for mode in dict.fromkeys(run.mode for run in runs):
        drawn[f"figure-4-{mode}"] = resources(name, [r for r in runs if r.mode == mode])
    return [write_figure(folder / f"{name}-{kind}.svg", text) for kind, text in drawn.items()]


def write_figure(file: Path, svg: str) -> Path:
    """Write a chart as a file of its own."""
    file.write_text(svg)
    return file


def forecast(name: str, first: FloatArray, second: FloatArray) -> str:
    """Figure 3: δQ_A in each half, one dot a page; pages without gain in one lie on the edge."""
    shown = np.flatnonzero((first > 0) | (second > 0))
    each = np.array([first[shown], second[shown]])
    each = each[:, :: -(-len(shown) // MAX_DOTS) or 1]
    least = EDGE * float(np.min(each, where=each > 0, initial=1.0))
    x, y = np.log(np.maximum(each, least))
    quarter = (
        np.searchsorted(np.quantile(np.abs(x - y), (0.25, 0.5, 0.75)), np.abs(x - y))
        if x.size
        else x
    )
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for number, colour in enumerate(NEARNESS):
            rows = quarter == number
            axes.plot(np.exp(x[rows]), np.exp(y[rows]), ".", markersize=2, color=colour)
        if x.size:
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_xlabel("δQ_A a day, first half")
        axes.set_ylabel("second half")
        return _svg(figure, f"{name}: gain of pages in both halves")


def overhead(name: str, costs: list[BatchCost]) -> str:
    """Figure 2: processor seconds to index a batch against its size, without and with measuring."""
    styles = line_styles(("without measuring", "with measuring"), "without measuring")
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for i, (label, style) in enumerate(reversed(styles.items())):
            seconds = [cost.processor[i] for cost in costs]
            _line(axes, [cost.megabytes for cost in costs], seconds, style, label=label, marker="o")
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.set_ylim(bottom=0)
        axes.set_xlabel("megabytes of text")
        axes.set_ylabel("seconds")
        axes.legend(fontsize=6, frameon=False)
        return _svg(figure, f"{name}: what measuring gains costs")


def resources(name: str, runs: list[RefreshRun]) -> str:
    """Refreshes a cycle against quality, one line per policy."""
    styles = line_styles(POLICIES, "oldest")
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for policy in POLICIES:
            own = sorted((r.refreshes, r.quality) for r in runs if r.policy == policy)
            if not own:
                continue
            spent, good = np.array(own).T
            _line(axes, good, spent, styles[policy], label=policy)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.set_xlabel("quality")
        axes.set_ylabel("refreshes a cycle")
        axes.legend(fontsize=6, frameon=False)
        return _svg(figure, f"{name}: quality and refreshes")
