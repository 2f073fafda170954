"""How likely is yes, given rows of features? Gradient boosting; what is unknown stays unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import extra

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray

TREES = 80
LEAVES = 15
LEAST = 20  #: examples of a leaf


@dataclass(frozen=True)
class Chance:
    """The chance of yes as a function of rows."""

    model: Any  #: None: always the same
    share: float

    def __call__(self, rows: FloatArray) -> FloatArray:
        if self.model is None or not len(rows):
            return np.full(len(rows), self.share)
        p: FloatArray = self.model.predict_proba(rows)[:, 1]
        return p


def boosting(rows: FloatArray, yes: BoolArray) -> Chance:
    """Learn from examples; with those of one kind only it is their smoothed share."""
    share = (float(yes.sum()) + 0.5) / (len(yes) + 1.0)
    if yes.all() or not yes.any():
        return Chance(None, share)
    with extra("papers", "Gradient boosting"):
        from sklearn.ensemble import HistGradientBoostingClassifier

    rows = np.where(np.isnan(rows).all(axis=0), 0.0, rows)  # else it cannot be binned
    model = HistGradientBoostingClassifier(
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=LEAST,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    return Chance(model.fit(rows, yes), share)
