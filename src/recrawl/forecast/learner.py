"""How are hits foretold, by the visits so far?

Two models of the same columns are averaged, one linear, one of trees. Only visits that were made
can be learned from, and a policy makes those it thinks worth it. That does not bias the models:
what a visit shows does not depend on why it was chosen, and all that the choice went by is among
the columns. But where nobody looked they can only guess; there both are drawn to the plain rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.forecast import boosted, hazard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.forecast.boosted import Boosted
    from recrawl.forecast.hazard import Hazard
    from recrawl.forecast.watch import Told
    from recrawl.model import BoolArray, FloatArray

KEPT = 60_000  #: visits
A_DAY = 6_000  #: of one day at most, so that there are days enough
LEAST = 10  #: hits before anything is learned
FOREST = 50  #: and before trees are grown
MORE = 1.15  #: times as many hits before it is learned anew
JUDGES = 0.1  #: part of the visits, the latest, that a new model is tried on


class Learner:
    """Learns from visits and what was known before them."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.rows: list[list[NDArray[np.generic]]] = []  #: columns, offset, hit: visits of a day
        self.hits = 0
        self.trained = 0  #: hits when last learned
        self.version = 0  #: models that were believed so far
        self.linear: Hazard | None = None
        self.boosted: Boosted | None = None

    def add(self, told: Told) -> None:
        """Visits of one day."""
        hit = told.visits.hit
        self.hits += int(hit.sum())
        rows = np.arange(len(hit))
        if len(hit) > A_DAY:
            rows = np.sort(np.random.default_rng(self.seed).choice(rows, A_DAY, replace=False))
        self.rows.append([told.columns[:, rows], told.offset[rows], hit[rows]])

    def forget_visits(self) -> None:
        """They will be told anew; what was learned stays."""
        self.rows, self.hits, self.trained = [], 0, 0

    def train(self) -> None:
        """Learn anew, if there is enough that is new and it foretells the latest visits better."""
        if self.hits < max(LEAST, MORE * self.trained):
            return
        self.trained = self.hits
        kept = (np.concatenate(x, axis=-1)[..., -KEPT:] for x in zip(*self.rows, strict=True))
        columns, offset, hit = kept
        self.rows = [[columns, offset, hit]]
        early = slice(int(len(hit) * (1.0 - JUDGES)))
        late = slice(early.stop, None)
        if self.linear is not None:
            trial = _fit(columns[:, early], offset[early], hit[early], self.seed)
            losses = [
                hazard.log_loss(
                    offset[late] + _log_ratio(*models, columns[:, late]), hit[late]
                ).sum()
                for models in ((self.linear, self.boosted), trial)
            ]
            if losses[1] > losses[0]:
                return
        self.linear, self.boosted = _fit(columns, offset, hit, self.seed)
        self.version += 1

    def log_ratio(self, columns: NDArray[np.float32]) -> FloatArray | None:
        """Log of s over rate × days, s such that a visit is a hit with 1 − exp(−s).

        A row a column, a column a page; None if nothing was learned yet.
        """
        return None if self.linear is None else _log_ratio(self.linear, self.boosted, columns)


def _fit(
    columns: NDArray[np.float32], offset: FloatArray, hit: BoolArray, seed: int
) -> tuple[Hazard, Boosted | None]:
    linear = hazard.fit(columns, offset, hit)
    return linear, boosted.fit(columns, offset, hit, seed=seed) if hit.sum() >= FOREST else None


def _log_ratio(linear: Hazard, trees: Boosted | None, columns: NDArray[np.float32]) -> FloatArray:
    found = linear.log_ratio(columns)
    return found if trees is None else 0.5 * (found + trees.log_ratio(columns))
