"""Predicts hits from features: the mean of a linear model and of boosted trees.

Only visits that were made can be learned from, and a policy makes those it thinks worth it. That
does not bias the models: what a visit shows does not depend on why it was chosen, and everything
the choice depended on is among the features. Where there were no visits the models can only guess;
there both are shrunk to the plain rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.auto import hazard, trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.auto.features import Examples
    from recrawl.auto.hazard import Hazard
    from recrawl.auto.trees import BoostedTrees
    from recrawl.model import BoolArray, FloatArray

    Models = tuple[Hazard, BoostedTrees | None]

MAX_VISITS = 120_000  #: kept to train on; when there are more, a random half of this is kept
MAX_VISITS_A_DAY = 6_000  #: of one day, so that there are enough days
MIN_HITS = 10  #: before the linear model is fitted
MIN_HITS_FOR_TREES = 50
RETRAIN_FACTOR = 1.15  #: times the hits of the last training
TEST_SHARE = 0.1  #: of the visits, the latest, that a new model is tested on
MAX_ERRORS_WORSE = 2.0  #: standard errors by which it may predict them worse


class Learner:
    """Trains the models on visits and what was known before them."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.days: list[list[NDArray[Any]]] = []  #: columns, offset and hit of the visits of a day
        self.n_hits = 0
        self.n_hits_trained = 0  #: at the last training
        self.version = 0  #: how many models were accepted
        self.linear: Hazard | None = None
        self.trees: BoostedTrees | None = None

    def add(self, examples: Examples) -> None:
        """Add the visits of one day."""
        hit = examples.visits.hit
        self.n_hits += int(hit.sum())
        day: list[NDArray[Any]] = [examples.columns, examples.offset, hit]
        self.days.append(_sample(day, MAX_VISITS_A_DAY, self.seed))
        if sum(len(day[-1]) for day in self.days) > MAX_VISITS:
            self.days = [_sample(self._all(), MAX_VISITS // 2, self.seed)]

    def _all(self) -> list[NDArray[Any]]:
        """The kept visits of all days: columns, offsets, hits."""
        return [np.concatenate(array, axis=-1) for array in zip(*self.days, strict=True)]

    def forget_visits(self) -> None:
        """Drop the stored visits; they will be added again. The fitted models are kept."""
        self.days, self.n_hits, self.n_hits_trained = [], 0, 0

    def train(self) -> None:
        """Fit new models if there are enough new hits.

        They are accepted unless they predict the latest visits worse than the models so far.
        """
        if self.n_hits < max(MIN_HITS, RETRAIN_FACTOR * self.n_hits_trained):
            return
        self.n_hits_trained = self.n_hits
        columns, offset, hit = self._all()
        self.days = [[columns, offset, hit]]
        if self.linear is not None:
            n_train = int(len(hit) * (1.0 - TEST_SHARE))
            trial = _fit(columns[:, :n_train], offset[:n_train], hit[:n_train], self.seed)
            test = columns[:, n_train:], offset[n_train:], hit[n_train:]
            if _is_worse(trial, (self.linear, self.trees), *test):
                return
        self.linear, self.trees = _fit(columns, offset, hit, self.seed)
        self.version += 1

    def log_ratio(self, columns: NDArray[np.float32]) -> FloatArray | None:
        """Log of s over rate × days, where a visit is a hit with probability 1 − exp(−s).

        `columns` has one row per feature and one column per page; None if nothing was trained yet.
        """
        return None if self.linear is None else _log_ratio(self.linear, self.trees, columns)


def _is_worse(
    new: Models, old: Models, columns: NDArray[np.float32], offset: FloatArray, hit: BoolArray
) -> bool:
    """Whether the new models predict visits worse than the old ones, beyond chance."""
    losses = [hazard.log_loss(offset + _log_ratio(*one, columns), hit) for one in (new, old)]
    more = losses[0] - losses[1]
    return bool(more.sum() > MAX_ERRORS_WORSE * np.sqrt(len(more)) * more.std())


def _sample(arrays: list[NDArray[Any]], n: int, seed: int) -> list[NDArray[Any]]:
    """At most n of the visits, drawn at random, in their order."""
    size = len(arrays[-1])
    if size <= n:
        return arrays
    kept = np.sort(np.random.default_rng((seed, size)).choice(size, n, replace=False))
    return [array[..., kept] for array in arrays]


def _fit(columns: NDArray[np.float32], offset: FloatArray, hit: BoolArray, seed: int) -> Models:
    linear = hazard.fit(columns, offset, hit, ridge=hazard.RIDGE)
    if hit.sum() < MIN_HITS_FOR_TREES:
        return linear, None
    return linear, trees.fit(columns, offset, hit, shrink=trees.SHRINK, seed=seed)


def _log_ratio(
    linear: Hazard, boosted: BoostedTrees | None, columns: NDArray[np.float32]
) -> FloatArray:
    ratio = linear.log_ratio(columns)
    return ratio if boosted is None else 0.5 * (ratio + boosted.log_ratio(columns))
