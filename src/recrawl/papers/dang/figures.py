"""Figures 3, 4, 5, 8 and 15 of the paper with our numbers, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import rankdata

from recrawl.errors import extra
from recrawl.lab.charts import COLOURS, SIZE, STYLE, _figure, _svg, by_share, line_styles
from recrawl.papers.dang.families import IN, SP
from recrawl.papers.dang.feature import around, table
from recrawl.papers.dang.network import rank

with extra("lab", "A figure"):
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline
    from matplotlib.ticker import FuncFormatter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from recrawl.model import FloatArray, IntArray
    from recrawl.papers.dang.data import Study
    from recrawl.papers.dang.models import Result

#: The groups of Figure 3: the least number of new links in each, and its name.
GROUPS: Final = {
    "internal": {0: "none", 1: "1 or 2", 3: "3 to 10", 11: "more than 10"},
    "external": {0: "none", 1: "1", 2: "more than 1"},
}
DRAWN: Final = ("NNL-ET_LBLA", "NNL-ET", "NNL-NGB", "NNL-LGB", "NNL-Av", "NNL-Pr", "CCR")
BAR = 0.16  #: half the width of the bar of an interval
SHADES: Final = ("#cccccc", *COLOURS)


def figures(study: Study, results: Mapping[str, Result]) -> dict[str, str]:
    """Each figure by its name; those of models for the kinds of links that were predicted."""
    drawn = {}
    for kind in study.rate:
        drawn[f"figure-3-{kind}"] = draw_flows(study, kind)
        drawn[f"figure-4-{kind}"] = draw_rates(study, kind)
    drawn["figure-5"] = draw_tails(study)
    drawn["figure-8"] = draw_correlations(study)
    for kind in study.rate:
        runs = [run for name, run in results.items() if name.startswith(f"{kind}-rankings")]
        if runs:
            drawn[f"figure-15-{kind}"] = draw_precision(runs, kind)
    return drawn


def flows(new: FloatArray, least: Sequence[int]) -> IntArray:
    """How many pages go from group to group between intervals: [interval, from, to].

    `new` has a row for each interval; `least` is the smallest number of new links in each group.
    """
    group = np.digitize(new, least[1:])
    counts = np.zeros((len(new) - 1, len(least), len(least)), np.int64)
    for step in range(len(new) - 1):
        np.add.at(counts[step], (group[step], group[step + 1]), 1)
    return counts


def draw_flows(study: Study, kind: str) -> str:
    """Figure 3: how pages move between groups; of pages that ever show new links."""
    new = np.array([getattr(each, f"new_{kind}") for each in study.snapshot.intervals])
    seen = study.rate[kind] > 0
    counts = flows(new[:, seen], list(GROUPS[kind])) / max(int(seen.sum()), 1)
    name = f"How many new {kind} links pages show from interval to interval"
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for step, flow in enumerate(counts):
            _draw_step(axes, step, flow)
        for shade, label in zip(SHADES, GROUPS[kind].values(), strict=False):
            axes.bar([0], [0], color=shade, label=label)
        axes.set_xlabel("interval")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at + 1:.0f}"))
        axes.grid(visible=False)
        title = f"new links, on\n{seen.mean():.1%} of the pages"
        figure.legend(
            title=title, loc="outside right upper", fontsize=7.0, title_fontsize=7.0, frameon=False
        )
        return _svg(figure, name)


def _draw_step(axes: Axes, step: int, flow: FloatArray) -> None:
    """The bars of two intervals, and ribbons for the pages that go from group to group."""
    before, after = flow.sum(axis=1), flow.sum(axis=0)
    for at, size in ((step, before), (step + 1, after)):
        bottom = np.cumsum(size) - size
        axes.bar(at, size, 2 * BAR, bottom, color=SHADES[: len(size)], linewidth=0)
    # Ribbons leave a bar in the order of where they go, and arrive in the order of where from.
    leave = (np.cumsum(before) - before)[:, None] + np.cumsum(flow, axis=1) - flow
    arrive = (np.cumsum(after) - after)[None, :] + np.cumsum(flow, axis=0) - flow
    for source, target in zip(*np.nonzero(flow), strict=True):
        ends = (leave[source, target], arrive[source, target])
        axes.add_patch(_ribbon(step, *ends, flow[source, target], SHADES[source]))


def _ribbon(step: int, leave: float, arrive: float, width: float, colour: str) -> PathPatch:
    left, right, middle = step + BAR, step + 1 - BAR, step + 0.5
    points = [
        (left, leave),
        (middle, leave),
        (middle, arrive),
        (right, arrive),
        (right, arrive + width),
        (middle, arrive + width),
        (middle, leave + width),
        (left, leave + width),
        (left, leave),
    ]
    curve = [Outline.CURVE4] * 3
    codes = [Outline.MOVETO, *curve, Outline.LINETO, *curve, Outline.CLOSEPOLY]
    return PathPatch(Outline(points, codes), facecolor=colour, alpha=0.45, linewidth=0)


def draw_rates(study: Study, kind: str) -> str:
    """Figure 4: the share of the pages by how often they show new links."""
    times = np.rint(study.rate[kind] * len(study.snapshot.intervals)).astype(np.int64)
    share = np.bincount(times, minlength=len(study.snapshot.intervals) + 1) / max(len(study), 1)
    name = f"Pages by the share of intervals with new {kind} links"
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        axes.bar(np.arange(len(share)), share, color=COLOURS[0])
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        axes.set_xlabel(f"intervals with new {kind} links, of {len(study.snapshot.intervals)}")
        axes.set_ylabel("pages, log scale")
        return _svg(figure, name)


def tail(new: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The numbers of new links that occur, and the share of the pages with that many or more."""
    numbers = np.unique(new[new > 0])
    at_least: FloatArray = 1.0 - np.searchsorted(np.sort(new), numbers) / max(len(new), 1)
    return numbers, at_least


def draw_tails(study: Study) -> str:
    """Figure 5: the complementary distribution of new links, a line for each interval."""
    name = "Share of pages by the least number of their new links, one line per interval"
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for colour, kind in zip(COLOURS, study.rate, strict=False):
            for number, interval in enumerate(study.snapshot.intervals):
                line = tail(getattr(interval, f"new_{kind}"))
                label = f"{kind}, each interval" if not number else None
                axes.plot(*line, color=colour, linewidth=0.8, alpha=0.7, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        axes.set_xlabel("new links, at least")
        axes.set_ylabel("pages")
        figure.legend(loc="outside right upper", fontsize=7.0, frameon=False)
        return _svg(figure, name)


def correlations(study: Study) -> tuple[list[str], FloatArray]:
    """Figure 8: the static features without meaning, with PageRank; Spearman's ρ of each pair.

    A feature that is the same on all pages has ρ 0 with the others.
    """
    own = [*SP, *IN, rank]
    features = [*own, *map(around, own)]
    columns = table(study.snapshot, features)
    columns = columns[np.isfinite(columns).all(axis=1)]
    ranks = rankdata(columns, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho: FloatArray = np.nan_to_num(np.corrcoef(ranks, rowvar=False), nan=0.0)
    return [feature.name for feature in features], rho


def draw_correlations(study: Study) -> str:
    names, rho = correlations(study)
    name = "Spearman's ρ between static features"
    with mpl.rc_context(STYLE | {"svg.hashsalt": name, "axes.grid": False}):
        figure = Figure(figsize=(2 * SIZE[0], 2 * SIZE[0]), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        axes.pcolormesh(rho, cmap="RdYlGn", vmin=-1.0, vmax=1.0)
        for (row, column), value in np.ndenumerate(rho):
            axes.text(
                column + 0.5, row + 0.5, f"{value:.2f}", ha="center", va="center", fontsize=5.0
            )
        places = np.arange(len(names)) + 0.5
        axes.set_xticks(places, names, rotation=90, fontsize=7.0)
        axes.set_yticks(places, names, fontsize=7.0)
        axes.invert_yaxis()
        return _svg(figure, name)


def draw_precision(runs: Sequence[Result], kind: str) -> str:
    """Figure 15: Precision@k% of rankings, the mean over repetitions."""
    names = [name for name in DRAWN if name in runs[0]["curves"]]
    lines = {n: np.mean([run["curves"][n] for run in runs], axis=0).tolist() for n in names}
    styles = line_styles(DRAWN, "CCR")
    return by_share(lines, styles, name=f"Precision@k%, new {kind} links")
