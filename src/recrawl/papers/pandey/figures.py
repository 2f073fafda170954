"""The paper's Figures 3 and 4 with our numbers, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import extra
from recrawl.lab.charts import STYLE, _figure, _line, _svg, line_styles
from recrawl.papers.pandey.experiment import POLICIES, halves

with extra("lab", "A figure"):
    import matplotlib as mpl
    from matplotlib.ticker import ScalarFormatter

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.papers.pandey.data import SearchStudy
    from recrawl.papers.pandey.experiment import RefreshRun

MAX_DOTS = 500  #: more would look the same
FLOOR = 1e-9  #: where pages without gain are drawn, as a share of the largest gain


def figures(name: str, study: SearchStudy, runs: list[RefreshRun], folder: Path) -> list[Path]:
    """Write Figure 3, and Figure 4 for each mode; returns the files."""
    drawn = {"figure-3": forecast(name, study)}
    for mode in dict.fromkeys(run.mode for run in runs):
        drawn[f"figure-4-{mode}"] = resources(name, [r for r in runs if r.mode == mode])
    files = []
    for kind, text in drawn.items():
        file = folder / f"{name}-{kind}.svg"
        file.write_text(text)
        files.append(file)
    return files


def forecast(name: str, study: SearchStudy) -> str:
    """Gain a cycle in each half, one dot a page; pages without gain in a half lie on the edge."""
    each = np.array([pair[1:] for pair in halves(study)]).reshape(-1, 2)
    first, second = each[:: -(-len(each) // MAX_DOTS) or 1].T
    least = FLOOR * max(float(np.max(np.abs([first, second]), initial=0.0)), 1e-300)
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        axes.plot(np.maximum(first, least), np.maximum(second, least), ".", markersize=2)
        if len(first):
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_xlabel("gain a cycle, first half")
        axes.set_ylabel("second half")
        return _svg(figure, f"{name}: gain of pages in both halves")


def resources(name: str, runs: list[RefreshRun]) -> str:
    """Refreshes a cycle against quality, one line per policy."""
    styles = line_styles(POLICIES, "oldest")
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for policy in POLICIES:
            own = sorted((r.refreshes, r.quality) for r in runs if r.policy == policy)
            spent, good = np.array(own).T
            _line(axes, good, spent, styles[policy], label=policy)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.set_xlabel("quality")
        axes.set_ylabel("refreshes a cycle")
        axes.legend(fontsize=6, frameon=False)
        return _svg(figure, f"{name}: quality and refreshes")
