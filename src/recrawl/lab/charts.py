"""Small charts as SVG text, for a report: metrics over time, over budgets, calibration."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import extra

with extra("lab", "A chart"):
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import (
        FixedFormatter,
        FixedLocator,
        MaxNLocator,
        NullLocator,
        PercentFormatter,
    )

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from recrawl.lab.rankings import Calibration
    from recrawl.model import FloatArray

# Okabe & Ito's colours, which the colour-blind can distinguish; without yellow, too pale on paper.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
DASHES = ((), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2))
SIZE = (4.2, 2.4)  #: inches; about the width of a phone, so that letters keep their size there
SPAN_DAYS = (180, 60, 30, 14, 7, 3, 1)  #: days between changes, the steps of a histogram
MIN_FORECASTS = 20  #: for a point of a reliability curve
MAX_POINTS = 160  #: of a line; more would not be visible
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.edgecolor": "#888888",
    "axes.axisbelow": True,
}


@dataclass(frozen=True)
class LineStyle:
    """How a policy's line looks, the same in all charts."""

    colour: str
    dashes: tuple[float, ...] = ()


GREY = LineStyle("#777777", (4, 2))  #: for oldest-first
BLACK = LineStyle("#222222", (1, 2))  #: for the clairvoyant


def line_styles(policies: Sequence[str], baseline: str) -> dict[str, LineStyle]:
    """A line style for each policy, in their order."""
    others = [policy for policy in policies if policy != baseline]
    drawn = {
        policy: LineStyle(COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)])
        for i, policy in enumerate(others)
    }
    return drawn | {baseline: GREY}


def smoothed(values: FloatArray, over: int) -> FloatArray:
    """The mean of each cycle and those before it, `over` cycles in all; fewer at the beginning.

    >>> import numpy as np
    >>> smoothed(np.array([2.0, 4.0, 6.0]), over=2).tolist()
    [2.0, 3.0, 5.0]
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    end = np.arange(1, len(values) + 1)
    begin = np.maximum(end - over, 0)
    mean: FloatArray = (sums[end] - sums[begin]) / (end - begin)
    return mean


def over_time(
    lines: Mapping[str, FloatArray], styles: Mapping[str, LineStyle], *, name: str
) -> str:
    """A line for each policy over the cycles past warm-up."""
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for policy, values in lines.items():
            step = max(1, -(-len(values) // MAX_POINTS))
            _line(axes, range(1, len(values) + 1, step), values[::step], styles[policy])
        axes.set_xlabel("cycle after warm-up")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        return _svg(figure, name)


def frontier(
    budgets: Sequence[str],
    shares: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    styles: Mapping[str, LineStyle],
    *,
    name: str,
) -> str:
    """A line for each policy over budgets, which are shares of the pages."""
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for policy, values in lines.items():
            _line(axes, shares, values, styles[policy], marker="o", markersize=3.5)
        if min(shares) > 0:
            axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(list(shares)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FixedFormatter(list(budgets)))
        axes.set_xlabel("budget of a cycle")
        return _svg(figure, name)


def by_share(
    lines: Mapping[str, Sequence[float]], styles: Mapping[str, LineStyle], *, name: str
) -> str:
    """A line for each ranking over the share of the pages in its top, from none to all."""
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for ranking, values in lines.items():
            _line(axes, np.linspace(0, 1, len(values)), values, styles[ranking], label=ranking)
        axes.set_xlabel("share of the pages")
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol="\N{NO-BREAK SPACE}%"))
        figure.legend(loc="outside right upper", fontsize=7.0, frameon=False)
        return _svg(figure, name)


def curves(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], *, label: str, name: str
) -> str:
    """A line for each name, with a legend; names that end in "paper" are dashed."""
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        for number, (line, values) in enumerate(lines.items()):
            again = 2 * (number // len(COLOURS) % 2)  # for the second time a colour comes up
            dashes = DASHES[1] if line.endswith("paper") else DASHES[again]
            style = LineStyle(COLOURS[number % len(COLOURS)], dashes)
            _line(axes, x, values, style, label=line)
        axes.set_xlabel(label)
        figure.legend(loc="outside right upper", fontsize=7.0, frameon=False)
        return _svg(figure, name)


def reliability(
    truth: Mapping[str, Calibration], styles: Mapping[str, LineStyle], *, name: str
) -> str:
    """A line for each policy: the share of changes by the predicted probability."""
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.8)
        for policy, calibration in truth.items():
            enough = calibration.count >= MIN_FORECASTS
            _line(
                axes,
                calibration.predicted[enough],
                calibration.observed[enough],
                styles[policy],
                marker="o",
                markersize=3,
            )
        axes.set_xlabel("probability of a change, as said")
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol="\N{NO-BREAK SPACE}%"))
        return _svg(figure, name)


def histogram(rates: FloatArray, *, name: str) -> str:
    """The share of the pages by how often they change."""
    edges = [0.0, *(1 / days for days in SPAN_DAYS), np.inf]
    counts = np.histogram(np.where(rates > 0, rates, 0.0), bins=edges)[0]
    still = int((rates == 0).sum())
    bars = np.array([still, counts[0] - still, *counts[1:]]) / max(len(rates), 1)
    labels = ["\N{INFINITY}", f">{SPAN_DAYS[0]}", *map(str, SPAN_DAYS)]
    with mpl.rc_context(STYLE | {"svg.hashsalt": name}):
        figure, axes = _figure()
        axes.bar(range(len(bars)), bars, color="#8aa9bd", width=0.8)
        axes.xaxis.set_major_locator(FixedLocator(list(range(len(bars)))))
        axes.xaxis.set_major_formatter(FixedFormatter(labels))
        axes.set_xlabel("days from change to change, at most")
        return _svg(figure, name)


def _figure() -> tuple[Figure, Axes]:
    """A figure without pyplot, so that no global state remains."""
    figure = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol="\N{NO-BREAK SPACE}%"))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    return figure, axes


def _line(
    axes: Axes,
    x: Sequence[float] | FloatArray,
    y: Sequence[float] | FloatArray,
    style: LineStyle,
    **more: object,
) -> None:
    dashes = (0, style.dashes) if style.dashes else "solid"
    axes.plot(x, y, color=style.colour, linestyle=dashes, linewidth=1.5, **more)  # type: ignore[arg-type]


def _svg(figure: Figure, name: str) -> str:
    """The figure as an element of a page: no prologue, no ids but those in use, short numbers."""
    file = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    used = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(r' id="([^"]+)"', lambda m: m[0] if m[1] in used else "", text)
    text = re.sub(r"<!--.*?-->\s*", "", text)
    text = re.sub(r'(?<= d=")[^"]+', lambda m: _short(m[0]), text)
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(name)}" ', 1)


def _short(path: str) -> str:
    return re.sub(r"-?\d+\.\d+", lambda m: f"{float(m[0]):.1f}", " ".join(path.split()))
