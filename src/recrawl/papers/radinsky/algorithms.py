"""Will a page change on the next day? What it and related pages say (Radinsky & Bennett 2013).

Each expert is a support vector machine on the features of one page, taught with the changes of the
target. All that is said of a day comes from the `n` days before it; how features are scaled and the
cost of the machine are settled on the days before the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl.papers.radinsky.features import own, shared, unigrams
from recrawl.papers.radinsky.learners.svm import polynomial, sliding, taught

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray
    from recrawl.papers.radinsky.features import Page

MODELS = 10  #: of a bag or a boosted ensemble; the paper gives no number
COSTS = (0.1, 1.0, 10.0)  #: what a machine's may be
TRIED = 1 / 3  #: of the days before the first on which costs are tried
HALF = 0.5  #: the error of chance


@dataclass(frozen=True)
class Setting:
    """What is asked: `days` whose next change is foretold, from the `n` days before each."""

    days: IntArray  #: ascending; features of day t, the change of day t + ahead
    n: int = 50
    window: int = 1  #: the paper's l
    ahead: int = 1  #: the paper's σ

    @property
    def first(self) -> int:
        """Days known before anything is foretold."""
        return int(self.days[0]) + 1


@dataclass(frozen=True)
class View:
    """What one page shows, as products of the standardised features of every two days."""

    products: FloatArray  #: 0 where unknown
    features: float  #: how many, the distribution of words as one
    known: BoolArray  #: by day


def view(target: Page, expert: Page | None, setting: Setting) -> View:
    """The features of the target itself, or those of another page with regard to it."""
    of = target if expert is None else expert
    dense = own(of, window=setting.window, ahead=setting.ahead)
    if expert is not None:
        dense = np.column_stack([dense, shared(target, expert, window=setting.window)])
    known: BoolArray = np.asarray(np.isfinite(dense).all(axis=1))
    past = np.flatnonzero(known[: setting.first])
    if not len(past):
        return View(np.zeros((len(known), len(known))), 1.0, np.zeros(len(known), np.bool_))
    scaled = _standard(np.where(known[:, None], dense, 0.0), past)
    products = scaled @ scaled.T + _centred(np.nan_to_num(unigrams(of)), past)
    products[~known] = 0.0
    products[:, ~known] = 0.0
    return View(products, dense.shape[1] + 1.0, known)


def _standard(dense: FloatArray, past: IntArray) -> FloatArray:
    """Columns of mean 0 and deviation 1 on past days; one that did not vary says nothing."""
    spread = dense[past].std(axis=0)
    out: FloatArray = np.divide(
        dense - dense[past].mean(axis=0), spread, out=np.zeros_like(dense), where=spread > 1e-12
    )
    return out


def _centred(gram: FloatArray, past: IntArray) -> FloatArray:
    """Products of vectors minus their mean on past days, of mean square 1 on these."""
    mean = gram[:, past].mean(axis=1)
    gram = gram - mean[:, None] - mean[None, :] + mean[past].mean()
    size = float(np.diagonal(gram)[past].mean())
    return gram / size if size > 1e-12 else np.zeros_like(gram)


@dataclass(frozen=True)
class Machine:
    """A kernel and a cost, settled on the days before the first that is asked for."""

    kernel: FloatArray
    known: BoolArray
    label: FloatArray
    setting: Setting
    cost: float

    @staticmethod
    def of(seen: View, label: FloatArray, setting: Setting) -> Machine:
        """At the cost that was right most often on the last days before, or the least."""
        kernel = polynomial(seen.products, seen.features)
        until = setting.first - setting.ahead
        before = replace(setting, days=np.arange(max(until - int(setting.n * TRIED), 0), until))
        truth = label[before.days + setting.ahead]
        best, hits = COSTS[0], -1
        for cost in COSTS:
            said = Machine(kernel, seen.known, label, before, cost).said()
            told = np.isfinite(truth) & np.isfinite(said)
            right = int(((said > 0) == (truth > 0))[told].sum())
            if right > hits:
                best, hits = cost, right
        return Machine(kernel, seen.known, label, setting, best)

    def said(self, weight: FloatArray | None = None) -> FloatArray:
        """What it says of each day; `weight` of each example, a row a day asked for."""
        if weight is None:
            weight = np.ones((len(self.setting.days), len(self.label)))
        out: FloatArray = sliding(
            self.kernel,
            self.known,
            self.label,
            self.setting.days,
            self.setting.n,
            self.setting.ahead,
            weight * self.cost,
        )
        return out

    def taught(
        self, day: int, weight: FloatArray
    ) -> tuple[float, FloatArray, IntArray, FloatArray]:
        """What it says of one day and of its examples; these, and their labels as -1 and 1."""
        n, ahead = self.setting.n, self.setting.ahead
        cost = weight * self.cost
        found: tuple[float, FloatArray, IntArray, FloatArray] = taught(
            self.kernel, self.known, self.label, day, n, ahead, cost
        )
        return found


def alone(seen: View, label: FloatArray, setting: Setting) -> FloatArray:
    """What one expert says of each day: above 0 for a change; NaN if it does not know its day."""
    return Machine.of(seen, label, setting).said()


def frequency(label: FloatArray, setting: Setting) -> FloatArray:
    """The share of changes on the `n` days up to each day; 0 where none is known."""
    out = np.zeros(len(setting.days))
    for at, day in enumerate(setting.days):
        past = label[max(day - setting.n + 1, 0) : day + 1]
        past = past[np.isfinite(past)]
        out[at] = past.mean() if len(past) else 0.0
    return out


def vote(said: FloatArray, weight: FloatArray) -> FloatArray:
    """The share of the weights that speak for a change, by day; a row of `said` an expert.

    An expert that does not know its day does not vote; 0 where none does.
    """
    there = np.isfinite(said) * weight[:, None]
    total = there.sum(axis=0)
    yes = (there * (np.nan_to_num(said) > 0)).sum(axis=0)
    share: FloatArray = np.divide(yes, total, out=np.zeros(len(total)), where=total > 0)
    return share


def union(views: list[View]) -> View:
    """All features of some pages as those of one; the target comes first.

    Where another page is not known its features are at their mean.
    """
    products = np.sum([seen.products for seen in views], axis=0)
    return View(products, sum(seen.features for seen in views), views[0].known)


def bagged(seen: View, label: FloatArray, setting: Setting, *, seed: int = 0) -> FloatArray:
    """The votes of machines taught with examples drawn anew: their share above 0, less a half."""
    machine, random = Machine.of(seen, label, setting), np.random.default_rng(seed)
    votes = np.zeros(len(setting.days))
    for _ in range(MODELS):
        often = np.zeros((len(setting.days), len(label)))
        for at, day in enumerate(setting.days):
            begin, end = max(day - setting.n + 1, 0), day - setting.ahead + 1
            drawn = random.integers(begin, end, end - begin)
            often[at] = np.bincount(drawn, minlength=len(label))
        said = machine.said(often)
        votes += np.where(np.isnan(said), np.nan, said > 0)
    return votes / MODELS - 0.5


def boosted(seen: View, label: FloatArray, setting: Setting) -> FloatArray:
    """AdaBoost: each machine minds most what those before it got wrong (Freund & Schapire 1997)."""
    machine = Machine.of(seen, label, setting)
    out = np.full(len(setting.days), np.nan)
    for at, day in enumerate(setting.days):
        if seen.known[day]:
            out[at] = _boosted(machine, int(day))
    return out


def _boosted(machine: Machine, day: int) -> float:
    weight = np.ones(len(machine.label))  # of mean 1 over the examples
    total = 0.0
    for model in range(MODELS):
        said, inner, rows, y = machine.taught(day, weight)
        wrong = (inner > 0) != (y > 0)
        error = float(weight[rows][wrong].sum()) / max(len(rows), 1)
        if error >= HALF:  # no better than chance: from here on there is nothing to learn
            return said if model == 0 else total
        trust = 0.5 * math.log((1 - error) / max(error, 1e-10))
        total += trust if said > 0 else -trust
        if error <= 0:  # all others would be the same
            return total
        weight[rows] *= np.exp(trust * np.where(wrong, 1.0, -1.0))
        weight[rows] *= len(rows) / weight[rows].sum()
    return total
