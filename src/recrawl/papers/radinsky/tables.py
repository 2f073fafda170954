"""What the paper found, what we found: its Tables 1 to 3, Figures 6 to 8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import rankdata

from recrawl import units
from recrawl.lab.charts import curves, smoothed
from recrawl.lab.statistics import fold_test, holm
from recrawl.papers.radinsky.data import EXPERT_COUNTS, TRAINING_SIZES
from recrawl.papers.radinsky.experiment import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recrawl.model import BoolArray, FloatArray
    from recrawl.papers.radinsky.crawl import Fresh
    from recrawl.papers.radinsky.experiment import Found

#: By table: the method as the paper calls it, its name here, and the paper's accuracy.
TABLES: Final = {
    "Table 1: what is known": (
        ("1D, drawn", "1D drawn", 0.5484),
        ("1D, majority", "1D", None),
        ("2D, single expert", "2D", 0.6293),
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
DRAWS = 400  #: of pages, for intervals


@dataclass(frozen=True)
class Judged:
    """How right a method was."""

    accuracy: FloatArray  #: by page; NaN where nothing is known of it
    low: float  #: of the 95 % interval of the mean, pages drawn anew
    high: float
    balanced: float  #: mean of the share right among changes and among none, all pages together
    auc: float


def judged(score: FloatArray, truth: FloatArray) -> Judged:
    """Hold what was said, above 0 for a change, against the truth; silence is a no."""
    known = np.isfinite(truth)
    score = np.where(np.isnan(score), score[np.isfinite(score)].min(initial=-1.0), score)
    return _judged(np.where(known, (score > 0) == (truth > 0), np.nan), score, truth, known)


def _judged(right: FloatArray, score: FloatArray, truth: FloatArray, known: BoolArray) -> Judged:
    days = known.sum(axis=1)
    accuracy = np.divide(
        np.nansum(right, axis=1), days, out=np.full(len(days), np.nan), where=days > 0
    )
    seen = accuracy[np.isfinite(accuracy)]
    drawn = np.random.default_rng(0).integers(len(seen), size=(DRAWS, len(seen)))
    low, high = np.quantile(seen[drawn].mean(axis=1), [0.025, 0.975])
    yes = truth[known] > 0
    hits = right[known]
    halves = [
        hits[yes].mean() if yes.any() else np.nan,
        hits[~yes].mean() if (~yes).any() else np.nan,
    ]
    return Judged(
        accuracy, float(low), float(high), float(np.mean(halves)), _auc(score[known], yes)
    )


def _auc(score: FloatArray, yes: BoolArray) -> float:
    """The chance that a change was given a higher score than none."""
    many = int(yes.sum())
    if not many or many == len(yes):
        return float("nan")
    above = rankdata(score)[yes].sum() - many * (many + 1) / 2
    return float(above / many / (len(yes) - many))


def by_chance(found: Found) -> Judged:
    """The baseline as printed: a change with the chance of its frequency; its expectation."""
    p, known = found.said["1D"] + 0.5, np.isfinite(found.truth)
    right = np.where(known, np.where(found.truth > 0, p, 1 - p), np.nan)
    return _judged(right, found.said["1D"], found.truth, known)


def tables(found: Found) -> str:
    """All of them, as Markdown."""
    all_judged = {name: judged(score, found.truth) for name, score in found.said.items()}
    all_judged["1D drawn"] = by_chance(found)
    sections = [list(_head(found))]
    sections += [list(_one(name, rows, all_judged)) for name, rows in TABLES.items()]
    if found.protocol.figures:
        sections += [list(_sizes(all_judged)), list(_counts(all_judged))]
    return "\n".join("\n".join(section) + "\n" for section in sections)


def _head(found: Found) -> Iterator[str]:
    given, pages = found.protocol, len(found.truth)
    n_pages = units.count(found.n_present, "page")
    flip = f"flip on {given.alpha:.0%} of the days or more" if given.alpha > 0 else "may be taken"
    yield (
        f"{found.n_passing:,} of {n_pages} {flip}; {pages:,} taken. n = {given.n}, k = {given.k}, "
        f"l = {given.window}, σ = {given.ahead}, {given.days} days foretold, a change as "
        f"{given.detector} has it: on {np.nanmean(found.truth):.2%} of them."
    )


def _one(
    name: str, rows: Iterable[tuple[str, str, float | None]], all_judged: dict[str, Judged]
) -> Iterator[str]:
    rows = list(rows)
    yield f"### {name}"
    yield ""
    yield "| method | paper | ours | 95 % interval | balanced | AUC | experts better by | p |"
    yield "|---|---|---|---|---|---|---|---|"
    best = all_judged[MAIN]
    seen = np.isfinite(best.accuracy)
    tests = [fold_test(best.accuracy[seen], all_judged[key].accuracy[seen]) for _, key, _ in rows]
    worth = holm([test.p for test in tests])
    for (label, key, theirs), test, p in zip(rows, tests, worth, strict=True):
        ours = all_judged[key]
        cells = [label, f"{theirs:.2%}" if theirs else "", f"{np.nanmean(ours.accuracy):.2%}"]
        cells += [f"{ours.low:.2%} to {ours.high:.2%}", f"{ours.balanced:.2%}", f"{ours.auc:.3f}"]
        cells += ["", ""] if key == MAIN else [f"{test.mean:+.2%}", f"{p:.2g}"]
        yield f"| {' | '.join(cells)} |"


def _sizes(all_judged: dict[str, Judged]) -> Iterator[str]:
    sizes = [n for n in TRAINING_SIZES if f"n={n} 2D" in all_judged]
    yield "### Figure 6: accuracy by training days"
    yield ""
    yield "In the paper flat from 30 to 90: about 55 %, 63 % and 72 %."
    yield ""
    yield f"| method | {' | '.join(map(str, sizes))} |"
    yield "|---" * (len(sizes) + 1) + "|"
    for label, key in (("1D, majority", "1D"), ("2D", "2D"), ("3D", "3D")):
        cells = [f"{np.nanmean(all_judged[f'n={n} {key}'].accuracy):.2%}" for n in sizes]
        yield f"| {label} | {' | '.join(cells)} |"


def _counts(all_judged: dict[str, Judged]) -> Iterator[str]:
    yield "### Figure 7: accuracy by number of experts"
    yield ""
    yield "In the paper highest, 72.72 %, at 20; single expert 62.93 %."
    yield ""
    yield f"| method | {' | '.join(map(str, EXPERT_COUNTS))} |"
    yield "|---" * (len(EXPERT_COUNTS) + 1) + "|"
    cells = [f"{np.nanmean(all_judged[f'k={k}'].accuracy):.2%}" for k in EXPERT_COUNTS]
    yield f"| 3D | {' | '.join(cells)} |"
    alone = f"{np.nanmean(all_judged['2D'].accuracy):.2%}"
    yield f"| 2D | {' | '.join([alone] * len(EXPERT_COUNTS))} |"


def drawn(found: Found, fresh: Fresh) -> dict[str, str]:
    """Figures 6, 7 and 8 as SVG; the paper's numbers dashed where it has any."""
    judgements = {name: judged(score, found.truth) for name, score in found.said.items()}

    def mean(name: str) -> float:
        return float(np.nanmean(judgements[name].accuracy))

    sizes = [n for n in TRAINING_SIZES if f"n={n} 2D" in judgements]
    by_size = {key: [mean(f"n={n} {key}") for n in sizes] for key in ("1D", "2D", "3D")}
    theirs = {"1D, paper": 0.5484, "2D, paper": 0.6293, "3D, paper": 0.7272}
    by_size |= {name: [value] * len(sizes) for name, value in theirs.items()}
    by_count = {
        "3D": [mean(f"k={k}") for k in EXPERT_COUNTS],
        "2D": [mean("2D")] * len(EXPERT_COUNTS),
    }
    by_count |= {
        "3D at 20, paper": [0.7272] * len(EXPERT_COUNTS),
        "2D, paper": [0.6293] * len(EXPERT_COUNTS),
    }
    days = np.arange(1, len(next(iter(fresh.fresh.values()))) + 1).tolist()
    by_day = {name: smoothed(values, over=20).tolist() for name, values in fresh.fresh.items()}
    return {
        "figure-6": curves(sizes, by_size, label="training days", name="figure-6"),
        "figure-7": curves(EXPERT_COUNTS, by_count, label="experts", name="figure-7"),
        "figure-8": curves(days, by_day, label="days crawled", name="figure-8"),
    }
