"""Settings of the learners: bounded by size, tuned by cross-validation; importance of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.errors import BadInput
from recrawl.lab.learners import learner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recrawl.model import BoolArray, FloatArray

SCORING: Final = {
    "class": "balanced_accuracy",
    "number": "r2",
    "count": "neg_mean_poisson_deviance",
}
N_FOLDS = 5
N_REPEATS = 5  #: shuffles of a column
MAX_TREE_ROWS = 100_000  #: that one tree of a forest sees


def bounded(rows: int, leaf: int) -> dict[str, Any]:
    """Settings of a forest that bound its memory and time on this many rows.

    >>> bounded(5_000, 2)
    {'min_samples_leaf': 2}
    """
    if rows <= MAX_TREE_ROWS:
        return {"min_samples_leaf": leaf}
    sampled = {"bootstrap": True, "max_samples": MAX_TREE_ROWS, "max_features": 1 / 3}
    return sampled | {"min_samples_leaf": max(leaf, 5)}


def tuned(
    name: str,
    task: str,
    x: FloatArray,
    y: FloatArray | BoolArray,
    grid: Mapping[str, Sequence[Any]],
    *,
    seed: int = 0,
    **settings: Any,
) -> dict[str, Any]:
    """The settings of a grid that score best in cross-validation on a development set."""
    from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

    smallest = min(np.unique(y, return_counts=True)[1]) if task == "class" else len(y)
    if smallest < 2:
        raise BadInput("The development set must hold each class twice or more. It does not.")
    split = StratifiedKFold if task == "class" else KFold
    folds = split(min(N_FOLDS, int(smallest)), shuffle=True, random_state=seed)
    search = GridSearchCV(
        learner(name, task, seed=seed, **settings), dict(grid), scoring=SCORING[task], cv=folds
    )
    best: dict[str, Any] = search.fit(x, y).best_params_
    return best


def importance(
    fitted: Any, task: str, x: FloatArray, y: FloatArray | BoolArray, *, seed: int = 0
) -> FloatArray:
    """How much worse a fitted learner scores when a column is shuffled, for each column."""
    from sklearn.inspection import permutation_importance

    if hasattr(fitted, "n_jobs"):
        fitted.n_jobs = 1  # hundreds of small predictions: threads would only slow them down
    result = permutation_importance(
        fitted, x, y, scoring=SCORING[task], n_repeats=N_REPEATS, random_state=seed
    )
    mean: FloatArray = result.importances_mean
    return mean
