"""How likely is yes, given rows of features? Gradient boosting; what is unknown stays unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.lab.learners import learner

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray

SETTINGS: dict[str, Any] = {
    "learning_rate": 0.1,
    "max_iter": 80,
    "max_leaf_nodes": 15,
    "min_samples_leaf": 20,
    "l2_regularization": 1.0,
    "class_weight": None,
}


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
    rows = np.where(np.isnan(rows).all(axis=0), 0.0, rows)  # an empty column cannot be binned
    model = learner("hist-boost", "class", **SETTINGS)
    return Chance(model.fit(rows, yes), share)
