"""How are hits foretold, by the visits so far?

Two models of the same columns are averaged, one linear, one of trees. Only visits that were made
can be learned from, and a policy makes those it thinks worth it. That does not bias the models:
what a visit shows does not depend on why it was chosen, and all that the choice went by is among
the columns. But where nobody looked they can only guess; there both are drawn to the plain rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.auto import hazard
from recrawl.auto import trees as boosted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.auto.features import Examples
    from recrawl.auto.hazard import Hazard
    from recrawl.auto.trees import Boosted
    from recrawl.model import BoolArray, FloatArray

    Models = tuple[Hazard, Boosted | None]

MOST = 120_000  #: visits that are kept; when there are more, half as many are drawn of them
AT_ONCE = 6_000  #: of those told at once, so that there are days enough
LEAST = 10  #: hits before anything is learned
FOREST = 50  #: and before trees are grown
MORE = 1.15  #: times as many hits before it is learned anew
JUDGES = 0.1  #: part of the visits, the latest, that a new model is tried on
DOUBT = 2.0  #: standard errors by which it must foretell them worse to be dropped


class Learner:
    """Learns from visits and what was known before them."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.rows: list[list[NDArray[Any]]] = []  #: columns, offset, hit: visits of a day
        self.hits = 0
        self.trained = 0  #: hits when last learned
        self.version = 0  #: models that were believed so far
        self.linear: Hazard | None = None
        self.boosted: Boosted | None = None

    def add(self, told: Examples) -> None:
        """Visits of one day."""
        hit = told.visits.hit
        self.hits += int(hit.sum())
        self.rows.append(_some([told.columns, told.offset, hit], AT_ONCE, self.seed))
        if sum(len(rows[-1]) for rows in self.rows) > MOST:
            self.rows = [_some(self._all(), MOST // 2, self.seed)]

    def _all(self) -> list[NDArray[Any]]:
        """Columns, offset and hit of all visits that are kept."""
        return [np.concatenate(one, axis=-1) for one in zip(*self.rows, strict=True)]

    def forget_visits(self) -> None:
        """They will be told anew; what was learned stays."""
        self.rows, self.hits, self.trained = [], 0, 0

    def train(self) -> None:
        """Learn anew if enough is new; believed unless it foretells the latest visits worse."""
        if self.hits < max(LEAST, MORE * self.trained):
            return
        self.trained = self.hits
        columns, offset, hit = self._all()
        self.rows = [[columns, offset, hit]]
        early = slice(int(len(hit) * (1.0 - JUDGES)))
        late = slice(early.stop, None)
        if self.linear is not None:
            trial = _fit(columns[:, early], offset[early], hit[early], self.seed)
            if _worse(
                trial, (self.linear, self.boosted), columns[:, late], offset[late], hit[late]
            ):
                return
        self.linear, self.boosted = _fit(columns, offset, hit, self.seed)
        self.version += 1

    def log_ratio(self, columns: NDArray[np.float32]) -> FloatArray | None:
        """Log of s over rate × days, s such that a visit is a hit with 1 − exp(−s).

        A row a column, a column a page; None if nothing was learned yet.
        """
        return None if self.linear is None else _log_ratio(self.linear, self.boosted, columns)


def _worse(
    new: Models, old: Models, columns: NDArray[np.float32], offset: FloatArray, hit: BoolArray
) -> bool:
    """Whether the new models foretell visits worse than the old ones, beyond chance."""
    losses = [hazard.log_loss(offset + _log_ratio(*one, columns), hit) for one in (new, old)]
    more = losses[0] - losses[1]
    return bool(more.sum() > DOUBT * np.sqrt(len(more)) * more.std())


def _some(rows: list[NDArray[Any]], most: int, seed: int) -> list[NDArray[Any]]:
    """So many of the visits, drawn at random, in their order."""
    size = len(rows[-1])
    if size <= most:
        return rows
    kept = np.sort(np.random.default_rng((seed, size)).choice(size, most, replace=False))
    return [one[..., kept] for one in rows]


def _fit(columns: NDArray[np.float32], offset: FloatArray, hit: BoolArray, seed: int) -> Models:
    linear = hazard.fit(columns, offset, hit, ridge=hazard.RIDGE)
    if hit.sum() < FOREST:
        return linear, None
    return linear, boosted.fit(columns, offset, hit, shrink=boosted.SHRINK, seed=seed)


def _log_ratio(linear: Hazard, trees: Boosted | None, columns: NDArray[np.float32]) -> FloatArray:
    found = linear.log_ratio(columns)
    return found if trees is None else 0.5 * (found + trees.log_ratio(columns))
