"""How many new links would a visit show? Learned from visits: whether any, and then how many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.features.link_past import LinkPast
from recrawl.model import DAY
from recrawl.related.nearest import nearest
from recrawl.related.urls import alongside
from recrawl.related.vectors import Vectors

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time

FIRST, AGAIN = 10 * DAY, 7 * DAY  #: of watching before the first training, and between two
LEAST = 20  #: visits with new links to learn from
#: Small trees, slowly: there are few visits with new links, and next week is not like this one.
TREES = 60
SHAPE = {
    "num_leaves": 15, "learning_rate": 0.05, "min_data_in_leaf": 30, "lambda_l2": 5.0,
    "max_bin": 63, "feature_fraction": 0.7, "num_threads": 1, "deterministic": True,
    "force_row_wise": True, "verbose": -1,
}  # fmt: skip


@dataclass
class BoostedLinks:
    """Two boosted models over the past of pages and of those around them, by URL and by text.

    The second learns the logarithm of how many: a page that once grew a thousand links shall not
    drown the others.
    """

    seed: int = 0
    never_seen: bool = False
    trained_: Time = field(default=-np.inf, init=False)
    models_: tuple[Any, Any] | None = field(default=None, init=False)  #: any, and how many
    past_: LinkPast = field(init=False)
    placed_: int = field(default=-1, init=False)  #: pages whose surroundings are known

    def __post_init__(self) -> None:
        self.past_ = LinkPast(never_seen=self.never_seen)

    def learn(self, pages: Pages, now: Time) -> None:
        """Take in new visits, and train anew from time to time."""
        due = now - self.trained_ >= AGAIN
        if self.placed_ < 0 or (due and self.placed_ != len(pages)):
            self._look_around(pages)
        self.past_.follow(pages)
        watched = now - float(np.fmin.reduce(pages.first_visit, initial=now))
        if due and watched >= FIRST:
            self._train(now)

    def _look_around(self, pages: Pages) -> None:
        texts = pages.texts()
        vectors = Vectors(seed=self.seed).fit(texts).embed(texts)
        self.past_.surround(pages, alongside(pages.urls()), nearest(vectors))
        self.placed_ = len(pages)

    def _train(self, now: Time) -> None:
        import lightgbm

        columns, new = self.past_.told()
        some = new > 0
        if some.sum() < LEAST or some.all():
            return
        shape = SHAPE | {"seed": self.seed}
        any_new = lightgbm.train(
            shape | {"objective": "binary"}, lightgbm.Dataset(columns, some), TREES
        )
        leaf = {"min_data_in_leaf": int(np.clip(some.sum() // 20, 5, 30))}
        how_many = lightgbm.train(
            shape | leaf | {"objective": "regression"},
            lightgbm.Dataset(columns[some], np.log(new[some])),
            TREES,
        )
        self.models_, self.trained_ = (any_new, how_many), now

    def expected(self, pages: Pages, now: Time) -> FloatArray | None:
        """New links that a visit to each page would show now; None while too little is known."""
        if self.models_ is None:
            return None
        columns = self.past_.columns(pages, now)
        any_new, how_many = (model.predict(columns, num_threads=1) for model in self.models_)
        expected: FloatArray = any_new * np.exp(how_many)
        return expected
