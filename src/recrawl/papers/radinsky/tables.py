"""Tables 1 to 3 and Figures 6 to 8 of the paper, its numbers beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import rankdata

from recrawl import units
from recrawl.lab.charts import curves, smoothed
from recrawl.lab.markdown import markdown
from recrawl.lab.statistics import fold_test, holm
from recrawl.papers.radinsky.data import EXPERT_COUNTS, TRAINING_SIZES
from recrawl.papers.radinsky.experiment import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recrawl.model import BoolArray, FloatArray
    from recrawl.papers.radinsky.crawl import CrawlFreshness
    from recrawl.papers.radinsky.experiment import Predictions

#: By table: the method as the paper calls it, its name here, the accuracy in the paper.
TABLES: Final = {
    "Table 1: what is known": (
        ("1D, drawn", "1D drawn", 0.5484),
        ("1D, majority", "1D", None),
        ("2D, single expert", "2D", 0.6293),
        ("2D without its words (f2)", "2D without f2", None),
        ("3D, multiple experts", "correlation", 0.7272),
        ("3D, one boosting for all pages", "boosting over all", None),
    ),
    "Table 2: how experts are combined": (
        ("relational union", "union", 0.6291),
        ("boosting", "boosting", 0.6344),
        ("bagging", "bagging", 0.6358),
        ("multiple experts", "correlation", 0.7272),
    ),
    "Table 3: how experts are chosen": (
        ("graph distance", "graph", 0.6440),
        ("content similarity", "content", 0.6727),
        ("cross-correlation", "correlation", 0.7272),
        ("DTW", "warping", 0.7033),
    ),
}
BOOTSTRAPS = 400  #: of pages, for confidence intervals


@dataclass(frozen=True)
class MethodAccuracy:
    """How often a method was right."""

    accuracy: FloatArray  #: by page; NaN where no day is known
    low: float  #: 95 % interval of the mean over pages, by bootstrap
    high: float
    balanced: float  #: mean of the accuracy on changes and on non-changes, over all pages
    auc: float


def measure(decision: FloatArray, truth: FloatArray) -> MethodAccuracy:
    """Compare decision values, above 0 for a change, with the truth; NaN predicts no change."""
    known = np.isfinite(truth)
    least = decision[np.isfinite(decision)].min(initial=-1.0)
    decision = np.where(np.isnan(decision), least, decision)
    right = np.where(known, (decision > 0) == (truth > 0), np.nan)
    return _measure(right, decision, truth, known)


def _measure(
    right: FloatArray, decision: FloatArray, truth: FloatArray, known: BoolArray
) -> MethodAccuracy:
    days = known.sum(axis=1)
    unknown = np.full(len(days), np.nan)
    accuracy = np.divide(np.nansum(right, axis=1), days, out=unknown, where=days > 0)
    measured = accuracy[np.isfinite(accuracy)]
    rows = np.random.default_rng(0).integers(len(measured), size=(BOOTSTRAPS, len(measured)))
    low, high = np.quantile(measured[rows].mean(axis=1), [0.025, 0.975])
    yes, right = truth[known] > 0, right[known]
    by_class = [right[some].mean() if some.any() else np.nan for some in (yes, ~yes)]
    balanced, auc = float(np.mean(by_class)), _auc(decision[known], yes)
    return MethodAccuracy(accuracy, float(low), float(high), balanced, auc)


def _auc(decision: FloatArray, yes: BoolArray) -> float:
    """Probability that a change has a higher decision value than a non-change."""
    n_yes = int(yes.sum())
    if not n_yes or n_yes == len(yes):
        return float("nan")
    above = rankdata(decision)[yes].sum() - n_yes * (n_yes + 1) / 2
    return float(above / n_yes / (len(yes) - n_yes))


def drawn_baseline(result: Predictions) -> MethodAccuracy:
    """The baseline as printed (§5.1): predict a change with probability p; expected accuracy."""
    decision, truth = result.decisions["1D"], result.truth
    known, p = np.isfinite(truth), decision + 0.5
    right = np.where(known, np.where(truth > 0, p, 1 - p), np.nan)
    return _measure(right, decision, truth, known)


def tables(result: Predictions) -> str:
    """All tables, as Markdown."""
    methods = {name: measure(decision, result.truth) for name, decision in result.decisions.items()}
    methods["1D drawn"] = drawn_baseline(result)
    sections = [[_summary(result)]]
    sections += [list(_table(name, rows, methods)) for name, rows in TABLES.items()]
    if result.protocol.figures:
        sections += [list(_figure_6(methods)), list(_figure_7(methods))]
    return "\n".join("\n".join(section) + "\n" for section in sections)


def _summary(result: Predictions) -> str:
    given, pages = result.protocol, len(result.truth)
    n_pages = units.count(result.n_present, "page")
    flip = f"flip on {given.alpha:.0%} of the days or more" if given.alpha > 0 else "may be taken"
    return (
        f"{result.n_passing:,} of {n_pages} {flip}; {pages:,} taken as targets. n = {given.n}, "
        f"k = {given.k}, l = {given.window}, σ = {given.ahead}, {given.days} days predicted. Pages "
        f"change on {np.nanmean(result.truth):.2%} of these days by `{given.detector}`."
    )


def _table(
    name: str,
    rows: Sequence[tuple[str, str, float | None]],
    methods: dict[str, MethodAccuracy],
) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    main = methods[MAIN].accuracy
    known = np.isfinite(main)
    tests = [fold_test(main[known], methods[key].accuracy[known]) for _, key, _ in rows]
    adjusted = holm([test.p for test in tests])
    table = []
    for (label, key, theirs), test, p in zip(rows, tests, adjusted, strict=True):
        ours = methods[key]
        cells = [label, f"{theirs:.2%}" if theirs else "", f"{np.nanmean(ours.accuracy):.2%}"]
        cells += [f"{ours.low:.2%} to {ours.high:.2%}", f"{ours.balanced:.2%}", f"{ours.auc:.3f}"]
        cells += ["", ""] if key == MAIN else [f"{test.mean:+.2%}", f"{p:.2g}"]
        table.append(cells)
    head = "method, paper, ours, 95 % interval, balanced, AUC, experts better by, p"
    yield from markdown(head.split(", "), table)


def _mean(methods: dict[str, MethodAccuracy], name: str) -> float:
    return float(np.nanmean(methods[name].accuracy))


def _sizes(methods: dict[str, MethodAccuracy]) -> list[int]:
    """The training sizes of Figure 6 for which the trace is long enough."""
    return [n for n in TRAINING_SIZES if f"n={n} 2D" in methods]


def _figure_6(methods: dict[str, MethodAccuracy]) -> Iterator[str]:
    sizes = _sizes(methods)
    yield "### Figure 6: accuracy by training days"
    yield ""
    yield "In the paper flat from 30 to 90: about 55 %, 63 % and 72 %."
    yield ""
    rows = {"1D, majority": "1D", "2D": "2D", "3D": "3D"}
    by_size = {
        label: [_mean(methods, f"n={n} {key}") for n in sizes] for label, key in rows.items()
    }
    yield from _accuracy_table(sizes, by_size)


def _figure_7(methods: dict[str, MethodAccuracy]) -> Iterator[str]:
    yield "### Figure 7: accuracy by number of experts"
    yield ""
    yield "In the paper highest, 72.72 %, at 20; single expert 62.93 %."
    yield ""
    by_count = {
        "3D": [_mean(methods, f"k={k}") for k in EXPERT_COUNTS],
        "2D": [_mean(methods, "2D")] * len(EXPERT_COUNTS),
    }
    yield from _accuracy_table(EXPERT_COUNTS, by_count)


def _accuracy_table(columns: Sequence[int], rows: dict[str, list[float]]) -> Iterator[str]:
    cells = ([label, *(f"{value:.2%}" for value in values)] for label, values in rows.items())
    yield from markdown(["method", *map(str, columns)], cells)


def draw_figures(result: Predictions, crawl: CrawlFreshness) -> dict[str, str]:
    """Figures 6, 7 and 8 as SVG, with the paper's numbers where it has any."""
    methods = {name: measure(decision, result.truth) for name, decision in result.decisions.items()}
    sizes, counts = _sizes(methods), len(EXPERT_COUNTS)
    by_size = {key: [_mean(methods, f"n={n} {key}") for n in sizes] for key in ("1D", "2D", "3D")}
    theirs = {"1D, paper": 0.5484, "2D, paper": 0.6293, "3D, paper": 0.7272}
    by_size |= {name: [value] * len(sizes) for name, value in theirs.items()}
    by_count = {
        "3D": [_mean(methods, f"k={k}") for k in EXPERT_COUNTS],
        "2D": [_mean(methods, "2D")] * counts,
        "3D at 20, paper": [0.7272] * counts,
        "2D, paper": [0.6293] * counts,
    }
    by_day = {name: smoothed(crawl.by_day(name), over=20).tolist() for name in crawl.fresh}
    days = list(range(1, len(next(iter(by_day.values()))) + 1))
    return {
        "figure-6": curves(sizes, by_size, label="training days", name="figure-6"),
        "figure-7": curves(EXPERT_COUNTS, by_count, label="experts", name="figure-7"),
        "figure-8": curves(days, by_day, label="days crawled", name="figure-8"),
    }
