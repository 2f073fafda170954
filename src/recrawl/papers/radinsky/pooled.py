"""One gradient boosting for all pages instead of SVMs for each; an addition to the paper.

Its features are those of the page, its share of changes in the last `n` days, and the weighted mean
of the features of its experts. Unknown features stay NaN: the trees handle them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.lab.learners import learner
from recrawl.papers.radinsky.algorithms import change_frequency
from recrawl.papers.radinsky.features import page_features, relation_features

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, Neighbours
    from recrawl.papers.radinsky.data import ExperimentData
    from recrawl.papers.radinsky.features import PageDays

RETRAIN_DAYS = 10  #: days from one training to the next
SETTINGS: dict[str, Any] = {
    "learning_rate": 0.1,
    "max_iter": 80,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 20,
    "l2_regularization": 1.0,
    "class_weight": None,
}


def pooled_boosting(data: ExperimentData, related: Neighbours) -> FloatArray:
    """Probability of a change less a half, targets × days predicted."""
    setup, label = data.setup, data.changed[data.target]
    table = _features(data, related)  # targets × days × features
    out = np.zeros((len(label), len(setup.days)))
    for at in range(0, len(setup.days), RETRAIN_DAYS):
        first, predicted = int(setup.days[at]), setup.days[at : at + RETRAIN_DAYS]
        past = np.arange(max(first - setup.n + 1, 0), first - setup.ahead + 1)
        truth = label[:, past + setup.ahead]
        known = np.isfinite(truth)
        rows = table[:, predicted].reshape(-1, table.shape[2])
        p = boosted_probability(table[:, past][known], truth[known] > 0, rows)
        out[:, at : at + RETRAIN_DAYS] = p.reshape(len(label), -1) - 0.5
    return out


def boosted_probability(examples: FloatArray, yes: BoolArray, rows: FloatArray) -> FloatArray:
    """Probability of yes for each of `rows`; the smoothed share if all examples have one label."""
    if yes.all() or not yes.any():
        return np.full(len(rows), (float(yes.sum()) + 0.5) / (len(yes) + 1.0))
    examples = np.where(np.isnan(examples).all(axis=0), 0.0, examples)  # else it cannot be binned
    model = learner("hist-boost", "class", **SETTINGS).fit(examples, yes)
    p: FloatArray = model.predict_proba(rows)[:, 1]
    return p


def _features(data: ExperimentData, related: Neighbours) -> FloatArray:
    setup, window = data.setup, data.setup.window
    every_day = replace(setup, days=np.arange(data.changed.shape[1]))

    def own_features(page: PageDays) -> FloatArray:
        return page_features(page, window=window, ahead=setup.ahead)

    tables = []
    for number, row in enumerate(data.target):
        page, is_expert = data.days(row), related.row[number] >= 0
        experts = [
            np.column_stack([own_features(other), relation_features(page, other, window=window)])
            for other in map(data.days, related.row[number][is_expert])
        ]
        own = own_features(page)
        frequency = change_frequency(page.changed, every_day)
        shape = (len(own), own.shape[1] + 3 * window + 1)
        mean = _weighted_mean(experts, related.weight[number][is_expert], shape)
        tables.append(np.column_stack([own, frequency, mean]))
    return np.array(tables)


def _weighted_mean(
    experts: list[FloatArray], weight: FloatArray, shape: tuple[int, int]
) -> FloatArray:
    """Weighted mean over the experts with a known value; NaN where none is known."""
    if not experts:
        return np.full(shape, np.nan)
    values = np.array(experts)
    known = np.isfinite(values) * weight[:, None, None]
    total = known.sum(axis=0)
    sums = (np.nan_to_num(values) * known).sum(axis=0)
    mean: FloatArray = np.divide(sums, total, out=np.full(shape, np.nan), where=total > 0)
    return mean
