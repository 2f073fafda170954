"""Tree learners of other libraries by name: scikit-learn, LightGBM and NGBoost.

A learner has `fit` and `predict`, and for classes `predict_proba`, as in scikit-learn. There are
three tasks: "class" predicts yes or no, with equal weight for both however rare one is; "number"
predicts a mean; "count" predicts the mean of a Poisson distribution.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.errors import BadInput, MissingExtra, extra

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recrawl.model import FloatArray


def learner(name: str, task: str, *, seed: int = 0, **settings: Any) -> Any:
    """A new, unfitted learner by its name, for a task."""
    if name not in LEARNERS:
        raise BadInput(f"No learner called {name!r}. Known: {', '.join(LEARNERS)}.")
    if task not in LEARNERS[name]:
        known = ", ".join(LEARNERS[name])
        raise BadInput(f"The learner {name!r} has no task {task!r}. It predicts: {known}.")
    path, defaults = LEARNERS[name][task]
    module, _, class_name = path.rpartition(".")
    made = getattr(_imported(module), class_name)(**(defaults | _seeded(name, seed) | settings))
    return GapFilling(made) if name == "ngboost" else made


class GapFilling:
    """A learner that takes no NaN; they are replaced by the means of the columns."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, x: FloatArray, y: FloatArray) -> GapFilling:
        known = np.isfinite(x)
        self.mean_ = np.where(known, x, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        self.learner.fit(self._filled(x), y)
        return self

    def predict(self, x: FloatArray) -> FloatArray:
        predicted: FloatArray = self.learner.predict(self._filled(x))
        return predicted

    def _filled(self, x: FloatArray) -> FloatArray:
        return np.where(np.isfinite(x), x, self.mean_)


def is_installed(name: str) -> bool:
    """Whether the library of that learner is installed."""
    try:
        _imported(next(iter(LEARNERS[name].values()))[0].partition(".")[0])
    except MissingExtra:
        return False
    return True


def load_libraries() -> None:
    """Import the libraries of all learners, as far as they are installed."""
    for tasks in LEARNERS.values():
        for path, _ in tasks.values():
            with suppress(MissingExtra):
                _imported(path.rpartition(".")[0])


def _imported(module: str) -> Any:
    with extra("papers", "This learner"):
        return import_module(module)


def _seeded(name: str, seed: int) -> dict[str, Any]:
    if name == "ngboost":
        from sklearn.tree import DecisionTreeRegressor

        _imported("ngboost")
        tree = DecisionTreeRegressor(max_depth=3, random_state=seed)  # the default has no seed
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
_LIGHTGBM: Final[dict[str, Any]] = {
    "learning_rate": 0.08,
    "n_estimators": 200,
    "min_child_samples": 25,
    "verbosity": -1,
    "deterministic": True,
    "force_row_wise": True,
}
_BALANCED: Final = {"class_weight": "balanced"}
_HIST_CLASS: Final = "sklearn.ensemble.HistGradientBoosting"
#: By name and task: the class and its default settings.
LEARNERS: Final[Mapping[str, Mapping[str, tuple[str, dict[str, Any]]]]] = {
    "extra-trees": {
        "class": ("sklearn.ensemble.ExtraTreesClassifier", _TREES | _BALANCED),
        "number": ("sklearn.ensemble.ExtraTreesRegressor", _TREES),
    },
    "hist-boost": {
        "class": (_HIST_CLASS + "Classifier", _HIST | _BALANCED),
        "number": (_HIST_CLASS + "Regressor", _HIST),
        "count": (_HIST_CLASS + "Regressor", _HIST | {"loss": "poisson"}),
    },
    "lightgbm": {
        "class": ("lightgbm.LGBMClassifier", _LIGHTGBM | _BALANCED),
        "number": ("lightgbm.LGBMRegressor", _LIGHTGBM),
        "count": ("lightgbm.LGBMRegressor", _LIGHTGBM | {"objective": "poisson"}),
    },
    "ngboost": {
        "count": (
            "ngboost.NGBRegressor",
            # Twice the step, half the steps, a third of the columns: else it takes minutes.
            {"n_estimators": 250, "learning_rate": 0.02, "col_sample": 0.3, "verbose": False},
        )
    },
}
