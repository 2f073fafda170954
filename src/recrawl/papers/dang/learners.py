"""What learns from columns? Trees by the hundred, as Dang et al. (2021) grow them, and faster kin.

A learner has `fit` and `predict`, and where it tells classes `predict_proba`, as in scikit-learn.
Of the tasks, "class" tells yes or no, both counting alike however rare one is; "number" tells a
mean; "count" tells the mean of a Poisson law.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.errors import BadInput, MissingExtra, extra

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recrawl.model import BoolArray, FloatArray

TASKS: Final = ("class", "number", "count")
SCORING: Final = {
    "class": "balanced_accuracy",
    "number": "r2",
    "count": "neg_mean_poisson_deviance",
}
FOLDS = 5
REPEATS = 5  #: of a permutation
MANY = 100_000  #: rows that a tree of a forest sees at most


def learner(name: str, task: str, *, seed: int = 0, **settings: Any) -> Any:
    """The learner of that name for a task, not yet taught."""
    if name not in LEARNERS:
        raise BadInput(f"No learner called {name!r}. Known: {', '.join(LEARNERS)}.")
    if task not in LEARNERS[name]:
        known = ", ".join(LEARNERS[name])
        raise BadInput(f"The learner {name!r} has no task {task!r}. It tells: {known}.")
    where, given = LEARNERS[name][task]
    module, _, kind = where.rpartition(".")
    made = getattr(_imported(module), kind)(**(given | _seeded(name, seed) | settings))
    return Filled(made) if name == "ngboost" else made


class Filled:
    """A learner that takes no gaps: they are filled with the means of the columns."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, x: FloatArray, y: FloatArray) -> Filled:
        known = np.isfinite(x)
        self.mean_ = np.where(known, x, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        self.learner.fit(self._filled(x), y)
        return self

    def predict(self, x: FloatArray) -> FloatArray:
        said: FloatArray = self.learner.predict(self._filled(x))
        return said

    def _filled(self, x: FloatArray) -> FloatArray:
        return np.where(np.isfinite(x), x, self.mean_)


def has(name: str) -> bool:
    """Can the learner of that name be used here?"""
    try:
        _imported(next(iter(LEARNERS[name].values()))[0].partition(".")[0])
    except MissingExtra:
        return False
    return True


def _imported(module: str) -> Any:
    with extra("papers", "This learner"):
        return import_module(module)


def _seeded(name: str, seed: int) -> dict[str, Any]:
    if name == "ngboost":
        from sklearn.tree import DecisionTreeRegressor

        _imported("ngboost")
        tree = DecisionTreeRegressor(max_depth=3, random_state=seed)  # its own draws unseeded
        distribution = _imported("ngboost.distns").Poisson
        return {"Dist": distribution, "Base": tree, "random_state": seed}
    return {"random_state": seed}


_TREES: Final[dict[str, Any]] = {"n_estimators": 400, "min_samples_leaf": 2, "n_jobs": -1}
_HIST: Final[dict[str, Any]] = {
    "learning_rate": 0.04,
    "max_iter": 500,
    "min_samples_leaf": 25,
    "max_leaf_nodes": None,
    "early_stopping": False,
}
_LIGHT: Final[dict[str, Any]] = {
    "learning_rate": 0.08,
    "n_estimators": 200,
    "min_child_samples": 25,
    "verbosity": -1,
    "deterministic": True,
    "force_row_wise": True,
}
_BALANCED: Final = {"class_weight": "balanced"}
_HIST_IN: Final = "sklearn.ensemble.HistGradientBoosting"
#: By name and task: the class, and what it is made with.
LEARNERS: Final[Mapping[str, Mapping[str, tuple[str, dict[str, Any]]]]] = {
    "extra-trees": {
        "class": ("sklearn.ensemble.ExtraTreesClassifier", _TREES | _BALANCED),
        "number": ("sklearn.ensemble.ExtraTreesRegressor", _TREES),
    },
    "hist-boost": {
        "class": (_HIST_IN + "Classifier", _HIST | _BALANCED),
        "number": (_HIST_IN + "Regressor", _HIST),
        "count": (_HIST_IN + "Regressor", _HIST | {"loss": "poisson"}),
    },
    "lightgbm": {
        "class": ("lightgbm.LGBMClassifier", _LIGHT | _BALANCED),
        "number": ("lightgbm.LGBMRegressor", _LIGHT),
        "count": ("lightgbm.LGBMRegressor", _LIGHT | {"objective": "poisson"}),
    },
    "ngboost": {
        "count": (
            "ngboost.NGBRegressor",
            # Twice the step, half the steps, a third of the columns: else it takes minutes.
            {"n_estimators": 250, "learning_rate": 0.02, "col_sample": 0.3, "verbose": False},
        )
    },
}


def bounded(rows: int, leaf: int) -> dict[str, Any]:
    """Settings with which a forest on so many rows neither fills the memory nor takes all day.

    >>> bounded(5_000, 2)
    {'min_samples_leaf': 2}
    """
    if rows <= MANY:
        return {"min_samples_leaf": leaf}
    sampled = {"bootstrap": True, "max_samples": MANY, "max_features": 1 / 3}
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
    """The settings of a grid that do best in cross-validation on a development set."""
    from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

    rarest = min(np.unique(y, return_counts=True)[1]) if task == "class" else len(y)
    if rarest < 2:
        raise BadInput("The development set must hold each class twice or more. It does not.")
    split = StratifiedKFold if task == "class" else KFold
    folds = split(min(FOLDS, int(rarest)), shuffle=True, random_state=seed)
    search = GridSearchCV(
        learner(name, task, seed=seed, **settings), dict(grid), scoring=SCORING[task], cv=folds
    )
    best: dict[str, Any] = search.fit(x, y).best_params_
    return best


def importance(
    taught: Any, task: str, x: FloatArray, y: FloatArray | BoolArray, *, seed: int = 0
) -> FloatArray:
    """How much worse the learner does when a column is shuffled, column by column."""
    from sklearn.inspection import permutation_importance

    if hasattr(taught, "n_jobs"):
        taught.n_jobs = 1  # asked hundreds of times for little: sharing that out takes longer
    found = permutation_importance(
        taught, x, y, scoring=SCORING[task], n_repeats=REPEATS, random_state=seed
    )
    mean: FloatArray = found.importances_mean
    return mean
