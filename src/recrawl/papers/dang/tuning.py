"""Settings of the learners: tuned by cross-validation, bounded by size; importance of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.errors import BadInput
from recrawl.lab.learners import learner
from recrawl.papers.dang.scores import of_classes, of_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recrawl.model import BoolArray, FloatArray, IntArray

N_FOLDS = 3
N_REPEATS = 5  #: shuffles of a column
MAX_TREE_ROWS = 100_000  #: that one tree of a forest sees
SIZES = (200, 300, 400, 500)  #: trees, or steps of boosting (§5.3 of the paper)


@dataclass(frozen=True)
class TuningRanges:
    """What is tried for a learner (§5.3), one setting after the other."""

    grid: Mapping[str, Sequence[Any]]  #: the first value holds until its setting is chosen
    size: str  #: the setting that is the number of trees
    trial: Sequence[int] | None = None  #: sizes at which the others are compared; None: SIZES
    folds: int = N_FOLDS  #: that are held out, one after the other, to compare the others


RANGES: Final = {
    # More than 25 trees rank the rows at a leaf alike.
    "extra-trees": TuningRanges({"min_samples_leaf": (2, 5, 10, 25)}, "n_estimators", (25,)),
    "hist-boost": TuningRanges(
        {"learning_rate": (0.04, 0.02, 0.1), "min_samples_leaf": (25, 10)}, "max_iter", folds=1
    ),
}


def tuned(
    name: str, task: str, x: FloatArray, y: FloatArray | BoolArray, *, seed: int = 0
) -> dict[str, Any]:
    """The settings that do best in cross-validation on these rows, a development set.

    A class is judged by balanced accuracy, a number by R². Settings are chosen one after the
    other, the number of trees last and on the first fold alone. Of equal scores the first wins,
    which is the fewest trees.
    """
    ranges, folds = RANGES[name], _folds(task, y, seed)
    known: dict[tuple[Any, ...], FloatArray] = {}

    def scored(settings: Mapping[str, Any], sizes: Sequence[int], n_folds: int) -> Any:
        """The mean score over the first folds, for each size."""
        key = (*settings.values(), *sizes)
        if key not in known:
            made = learner(name, task, seed=seed, **settings, **{ranges.size: max(sizes)})
            each = [
                _scores(made.fit(np.asfortranarray(x[fit]), y[fit]), sizes, x[out], y[out])
                for fit, out in folds[:n_folds]
            ]
            known[key] = np.mean(each, axis=0)
        return known[key]

    best = {setting: values[0] for setting, values in ranges.grid.items()}
    for setting, values in ranges.grid.items():
        trials = [best | {setting: value} for value in values]
        tried = [max(scored(trial, ranges.trial or SIZES, ranges.folds)) for trial in trials]
        best[setting] = values[int(np.argmax(tried))]
    return best | {ranges.size: SIZES[int(np.argmax(scored(best, SIZES, 1)))]}


Fold = tuple["IntArray", "IntArray"]


def _folds(task: str, y: FloatArray | BoolArray, seed: int) -> list[Fold]:
    """Rows to fit on and rows held out, for each fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    smallest = min(np.unique(y, return_counts=True)[1]) if task == "class" else len(y)
    if smallest < 2:
        raise BadInput("The development set must hold each class twice or more. It does not.")
    split = StratifiedKFold if task == "class" else KFold
    folds = split(min(N_FOLDS, int(smallest)), shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(y)), y))


def _scores(
    fitted: Any, sizes: Sequence[int], x: FloatArray, y: FloatArray | BoolArray
) -> list[float]:
    """The score with the first trees only, for each size."""
    stages = _stages(fitted, sizes, x)
    if y.dtype == np.bool_:
        return [of_classes(y.astype(np.bool_), said > 0.5)["accuracy (b)"] for said in stages]
    return [of_numbers(y.astype(np.float64), said)["R²"] for said in stages]


def _stages(fitted: Any, sizes: Sequence[int], x: FloatArray) -> Iterator[FloatArray]:
    """What the first trees predict, for each size: a number, or the probability of True."""
    if hasattr(fitted, "staged_predict"):
        stages = list(fitted.staged_predict(x))
        yield from (stages[size - 1] for size in sizes)
        return
    narrow = x.astype(np.float32)  # as trees take it
    if hasattr(fitted, "classes_"):
        each = [tree.predict_proba(narrow, check_input=False)[:, 1] for tree in fitted.estimators_]
    else:
        each = [tree.predict(narrow, check_input=False) for tree in fitted.estimators_]
    sums = np.cumsum(each, axis=0)
    yield from (sums[size - 1] / size for size in sizes)


def bounded(rows: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a forest, with its memory and time bounded on more than MAX_TREE_ROWS rows.

    >>> bounded(5_000, {"min_samples_leaf": 2})
    {'min_samples_leaf': 2}
    """
    if rows <= MAX_TREE_ROWS:
        return dict(settings)
    sampled = {"bootstrap": True, "max_samples": MAX_TREE_ROWS, "max_features": 1 / 3}
    return {**settings, **sampled, "min_samples_leaf": max(settings["min_samples_leaf"], 5)}


def importance(
    fitted: Any, x: FloatArray, y: FloatArray | BoolArray, *, seed: int = 0
) -> FloatArray:
    """How much worse a fitted learner scores when a column is shuffled, for each column."""
    from sklearn.inspection import permutation_importance

    if hasattr(fitted, "n_jobs"):
        fitted.n_jobs = 1  # hundreds of small predictions: threads would only slow them down
    scoring = "balanced_accuracy" if y.dtype == np.bool_ else "r2"
    result = permutation_importance(
        fitted, x, y, scoring=scoring, n_repeats=N_REPEATS, random_state=seed
    )
    mean: FloatArray = result.importances_mean
    return mean
