"""Which pages now, by the new links that their past and that of pages like them foretell?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.model import DAY, Neighbours, rows_of
from recrawl.neighbours.nearest import nearest
from recrawl.neighbours.url_siblings import url_siblings
from recrawl.neighbours.vectors import Vectors
from recrawl.papers.dang.rates import LinkRates, link_visits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, KeyArray, Pages, Time
    from recrawl.protocols import History

NEAR = 30  #: related pages of each
GROWN = 2  #: times as many pages as the words were learned from: learn them anew
NOBODY = Neighbours(np.empty((0, NEAR), np.int64), np.empty((0, NEAR)))


class Lbla:
    """Look back, look around (Dang et al. 2021): expected new links a day × days since the visit.

    The 19 features are new links a day at the page's last eight visits and their mean, the same of
    the 30 pages whose text is most like its own, and how often those show any. Of a page
    without text the pages siblings it in its directory, or on its host, speak. Taught anew every
    `every` days, from recorded visits alone.
    """

    name: ClassVar[str] = "lbla"
    taught_: Taught | None = None

    def __init__(self, *, every: float = 7.0, seed: int = 0) -> None:
        self.every = every
        self.seed = seed

    def learn(self, history: History, pages: Pages, now: Time) -> None:  # noqa: ARG002
        """Every week or so: who is like whom, and what that is worth."""
        before = self.taught_
        if before and now - before.at < self.every * DAY:
            return
        if not len(pages):
            return
        pages = pages.take(np.argsort(pages.key))
        said = (before.said if before else TextVectors(seed=self.seed)).read(pages, now)
        near = _near(pages, said.vectors)
        rates = LinkRates(self.seed).fit(link_visits(pages), near)
        self.taught_ = Taught(now, said, near, rates)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        taught = self.taught_ or Taught(now, TextVectors(seed=self.seed), NOBODY, LinkRates())
        daily = taught.rates.predict(link_visits(pages), taught.neighbours(pages.key))
        return daily * pages.days_since_visit(now)


@dataclass(frozen=True)
class TextVectors:
    """The vectors of our copies, keys ascending; only those that changed are read again."""

    seed: int
    key: KeyArray = field(default_factory=lambda: np.empty(0, np.uint64))
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))
    space: Vectors | None = None
    at: Time = -np.inf
    fitted: int = 0  #: texts that the words were learned from

    def read(self, pages: Pages, now: Time) -> TextVectors:
        """The same for these pages, as they are now."""
        before = rows_of(pages.key, self.key)
        known = before >= 0
        newest = np.fmax(pages.first_visit, pages.last_change)
        stale: BoolArray = np.logical_or(~known, newest >= self.at)
        grown = (~np.isnan(pages.first_visit)).sum() > GROWN * self.fitted
        if grown:
            stale[:] = True
        texts = pages.take(stale).texts()
        space = Vectors(seed=self.seed).fit(texts) if grown or not self.space else self.space
        fitted = len(texts) - texts.null_count if grown else self.fitted
        vectors = np.zeros((len(pages), space.dims), np.float32)
        if not grown and known.any():
            vectors[known] = self.vectors[before[known]]
        vectors[stale] = space.embed(texts)
        return TextVectors(self.seed, pages.key, vectors, space, now, fitted)


@dataclass(frozen=True)
class Taught:
    """What is known since the last lesson."""

    at: Time
    said: TextVectors
    near: Neighbours
    rates: LinkRates

    def neighbours(self, key: KeyArray) -> Neighbours:
        """Those of these pages, as rows among them."""
        place = rows_of(key, self.said.key)
        known = place >= 0
        row_of = np.full(len(self.said.key) + 1, -1)
        row_of[place[known]] = np.flatnonzero(known)
        row, weight = np.full((len(key), NEAR), -1), np.zeros((len(key), NEAR))
        row[known] = row_of[self.near.row[place[known]]]
        weight[known] = np.where(row[known] >= 0, self.near.weight[place[known]], 0.0)
        return Neighbours(row, weight)


def _near(pages: Pages, vectors: NDArray[np.float32]) -> Neighbours:
    """The pages of like text; for those without, the pages siblings them."""
    by_text = nearest(vectors, NEAR)
    alone: BoolArray = by_text.weight.sum(axis=1) == 0.0
    if not alone.any():
        return by_text
    siblings = url_siblings(pages.urls(), NEAR)
    row = np.where(alone[:, None], siblings.row, by_text.row)
    return Neighbours(row, np.where(alone[:, None], siblings.weight, by_text.weight))
