"""The learning algorithms of §5: will the target page change on the next day?

| paper | here |
|---|---|
| §5.1 baseline (1D) | `change_frequency` |
| §5.2 single expert (2D) | `single_expert` |
| §5.3.1 multiple experts (3D), Figure 3 | `single_expert` of each expert, then `weighted_vote` |
| §5.3.2 relational union | `single_expert` of `relational_union` |
| §5.3.3 relational stacking | `bagging` and `adaboost` of `relational_union` |

An expert is an SVM on the features of one page, trained on the changes of the target. A prediction
for a day uses the `n` days before it. The scale of the features and the cost of the SVM are set on
the days before the first prediction. Results are decision values: above 0 predicts a change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl.papers.radinsky.features import page_features, relation_features, unigram_products
from recrawl.papers.radinsky.learners.svm import polynomial, sliding_decisions, train_for_day

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray
    from recrawl.papers.radinsky.features import PageDays

N_MODELS = 10  #: in a bagged or boosted ensemble; the paper gives no number
COSTS = (0.1, 1.0, 10.0)  #: of an SVM; the best on the validation days is used
VALIDATION_SHARE = 1 / 3  #: of `n`: the days before the first prediction that costs are tried on
ERROR_OF_CHANCE = 0.5


@dataclass(frozen=True)
class Setup:
    """The days predicted, and the parameters of the paper (§4.2.1, §7.2)."""

    days: IntArray  #: ascending; the features of day t predict the change on day t + ahead
    n: int = 50  #: training days before each
    window: int = 1  #: the paper's l
    ahead: int = 1  #: the paper's σ

    @property
    def first(self) -> int:
        """Number of days known before the first prediction."""
        return int(self.days[0]) + 1


@dataclass(frozen=True)
class FeatureProducts:
    """Products of the standardised features of every two days, as a kernel needs them."""

    products: FloatArray  #: 0 where unknown
    n_features: float  #: the unigram distribution counts as one
    known: BoolArray  #: by day


def feature_products(
    target: PageDays, expert: PageDays | None, setup: Setup, *, with_words: bool = True
) -> FeatureProducts:
    """Features of the target itself (2D), or of another page in relation to it (3D).

    The distribution of words (f2, g2) is left out unless `with_words`.
    """
    page = target if expert is None else expert
    features = page_features(page, window=setup.window, ahead=setup.ahead)
    if expert is not None:
        relation = relation_features(target, expert, window=setup.window)
        features = np.column_stack([features, relation])
    known: BoolArray = np.asarray(np.isfinite(features).all(axis=1))
    past = np.flatnonzero(known[: setup.first])
    if not len(past):
        none = np.zeros(len(known), np.bool_)
        return FeatureProducts(np.zeros((len(known), len(known))), 1.0, none)
    scaled = _standardise(np.where(known[:, None], features, 0.0), past)
    products = scaled @ scaled.T
    if with_words:
        products += _standardise_products(np.nan_to_num(unigram_products(page)), past)
    products[~known] = 0.0
    products[:, ~known] = 0.0
    return FeatureProducts(products, features.shape[1] + float(with_words), known)


def _standardise(features: FloatArray, past: IntArray) -> FloatArray:
    """Columns with mean 0 and deviation 1 on past days; a column constant on them becomes 0."""
    deviation = features[past].std(axis=0)
    centred = features - features[past].mean(axis=0)
    out: FloatArray = np.divide(
        centred, deviation, out=np.zeros_like(features), where=deviation > 1e-12
    )
    return out


def _standardise_products(products: FloatArray, past: IntArray) -> FloatArray:
    """Products of vectors less their mean on past days, scaled to mean square 1 on these."""
    mean = products[:, past].mean(axis=1)
    products = products - mean[:, None] - mean[None, :] + mean[past].mean()
    size = float(np.diagonal(products)[past].mean())
    return products / size if size > 1e-12 else np.zeros_like(products)


@dataclass(frozen=True)
class SlidingSvm:
    """An SVM trained afresh for each day, on the days before it."""

    kernel: FloatArray
    known: BoolArray
    label: FloatArray
    setup: Setup
    cost: float

    @staticmethod
    def of(features: FeatureProducts, label: FloatArray, setup: Setup) -> SlidingSvm:
        """With the cost that was right most often on the validation days; the least of equals."""
        kernel = polynomial(features.products, features.n_features)
        end = setup.first - setup.ahead
        days = np.arange(max(end - int(setup.n * VALIDATION_SHARE), 0), end)
        validation, truth = replace(setup, days=days), label[days + setup.ahead]
        best, most = COSTS[0], -1
        for cost in COSTS:
            decision = SlidingSvm(kernel, features.known, label, validation, cost).decisions()
            compared = np.isfinite(truth) & np.isfinite(decision)
            n_right = int(((decision > 0) == (truth > 0))[compared].sum())
            if n_right > most:
                best, most = cost, n_right
        return SlidingSvm(kernel, features.known, label, setup, best)

    def decisions(self, weight: FloatArray | None = None) -> FloatArray:
        """Decision value of each day; `weight` of each example, one row per day predicted."""
        setup = self.setup
        if weight is None:
            weight = np.ones((len(setup.days), len(self.label)))
        days, cost = setup.days, weight * self.cost
        out: FloatArray = sliding_decisions(
            self.kernel, self.known, self.label, days, setup.n, setup.ahead, cost
        )
        return out


def change_frequency(label: FloatArray, setup: Setup) -> FloatArray:
    """Share of changes in the `n` days up to each day (§5.1); 0 where no day is known."""
    out = np.zeros(len(setup.days))
    for at, day in enumerate(setup.days):
        past = label[max(day - setup.n + 1, 0) : day + 1]
        past = past[np.isfinite(past)]
        out[at] = past.mean() if len(past) else 0.0
    return out


def single_expert(features: FeatureProducts, label: FloatArray, setup: Setup) -> FloatArray:
    """Decision value of each day by one expert (§5.2); NaN where its features are unknown."""
    return SlidingSvm.of(features, label, setup).decisions()


def weighted_vote(decision: FloatArray, weight: FloatArray) -> FloatArray:
    """Share of the weights that vote for a change on each day (Figure 3); one row per expert.

    Experts whose decision is NaN do not vote; 0 where none votes.
    """
    voting = np.isfinite(decision) * weight[:, None]
    total = voting.sum(axis=0)
    yes = (voting * (np.nan_to_num(decision) > 0)).sum(axis=0)
    share: FloatArray = np.divide(yes, total, out=np.zeros(len(total)), where=total > 0)
    return share


def relational_union(experts: list[FeatureProducts]) -> FeatureProducts:
    """The features of all pages together (§5.3.2); the target comes first.

    On days on which another page is unknown, its features have their mean value.
    """
    products = np.sum([expert.products for expert in experts], axis=0)
    n_features = sum(expert.n_features for expert in experts)
    return FeatureProducts(products, n_features, experts[0].known)


def bagging(
    features: FeatureProducts, label: FloatArray, setup: Setup, *, seed: int = 0
) -> FloatArray:
    """Share of votes for a change less a half, of SVMs on bootstrap samples (§5.3.3)."""
    svm, random = SlidingSvm.of(features, label, setup), np.random.default_rng(seed)
    votes = np.zeros(len(setup.days))
    for _ in range(N_MODELS):
        weight = np.zeros((len(setup.days), len(label)))
        for at, day in enumerate(setup.days):
            begin, end = max(day - setup.n + 1, 0), day - setup.ahead + 1
            drawn = random.integers(begin, end, end - begin)
            weight[at] = np.bincount(drawn, minlength=len(label))
        decision = svm.decisions(weight)
        votes += np.where(np.isnan(decision), np.nan, decision > 0)
    return votes / N_MODELS - 0.5


def adaboost(features: FeatureProducts, label: FloatArray, setup: Setup) -> FloatArray:
    """AdaBoost of SVMs (§5.3.3; Freund & Schapire 1997): Σ α_i C_i of each day."""
    svm = SlidingSvm.of(features, label, setup)
    out = np.full(len(setup.days), np.nan)
    for at, day in enumerate(setup.days):
        if features.known[day]:
            out[at] = _adaboost(svm, int(day))
    return out


def _adaboost(svm: SlidingSvm, day: int) -> float:
    """W_{i+1} = W_i · exp(−α_i y C_i) / Z_i, α_i = ½ ln((1 − ε_i) / ε_i)."""
    weight = np.ones(len(svm.label))  # mean 1 over the examples
    total = 0.0
    for model in range(N_MODELS):
        decision, fitted, rows, y = train_for_day(
            svm.kernel, svm.known, svm.label, day, svm.setup.n, svm.setup.ahead, weight * svm.cost
        )
        wrong = (fitted > 0) != (y > 0)
        error = float(weight[rows][wrong].sum()) / max(len(rows), 1)
        if error >= ERROR_OF_CHANCE:  # nothing more to learn
            return decision if model == 0 else total
        alpha = 0.5 * math.log((1 - error) / max(error, 1e-10))
        total += alpha if decision > 0 else -alpha
        if error <= 0:  # all further models would be the same
            return total
        weight[rows] *= np.exp(alpha * np.where(wrong, 1.0, -1.0))
        weight[rows] *= len(rows) / weight[rows].sum()
    return total
