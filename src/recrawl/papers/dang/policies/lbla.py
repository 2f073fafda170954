"""Which pages now, by the new links predicted from their own visits and those of similar pages?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.model import DAY, Neighbours, rows_of
from recrawl.neighbours.nearest import nearest
from recrawl.neighbours.url_siblings import url_siblings
from recrawl.neighbours.vectors import TextSpace, TextVectors
from recrawl.papers.dang.rates import LinkRates, link_visits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, KeyArray, Pages, Time
    from recrawl.protocols import History

N_NEIGHBOURS = 30  #: related pages of each page


class Lbla:
    """Look back, look around (Dang et al. 2021): expected new links a day × days since the visit.

    The 19 features are new links a day at the page's last eight visits and their mean, the same of
    the 30 pages with the most similar text, and how often those show any. A page without text uses
    its URL siblings instead: pages of its directory or its host. The model is fitted again every
    `every` days, from recorded visits alone.
    """

    name: ClassVar[str] = "lbla"
    fitted_: Fitted | None = None

    def __init__(self, *, every: float = 7.0, seed: int = 0) -> None:
        self.every = every
        self.seed = seed

    def learn(self, history: History, pages: Pages, now: Time) -> None:  # noqa: ARG002
        """Find the neighbours of each page and fit the rates, if `every` days have passed."""
        if not len(pages) or (self.fitted_ and now - self.fitted_.at < self.every * DAY):
            return
        last = self.fitted_ or self._unfitted()
        pages = pages.take(np.argsort(pages.key))
        _read(pages, last)
        near = _neighbours(pages, last.texts.vector)
        rates = LinkRates(self.seed).fit(link_visits(pages), near)
        self.fitted_ = Fitted(now, pages.key, last.texts, near, rates)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        fitted = self.fitted_ or self._unfitted()
        daily = fitted.rates.predict(link_visits(pages), fitted.neighbours(pages.key))
        return daily * pages.days_since_visit(now)

    def _unfitted(self) -> Fitted:
        texts = TextVectors(n_pages=0, space=TextSpace(seed=self.seed))
        nobody = Neighbours(np.empty((0, N_NEIGHBOURS), np.int64), np.empty((0, N_NEIGHBOURS)))
        return Fitted(-np.inf, np.empty(0, np.uint64), texts, nobody, LinkRates())


@dataclass(frozen=True)
class Fitted:
    """What was learned at a time, about pages in ascending order of their keys."""

    at: Time
    key: KeyArray
    texts: TextVectors
    near: Neighbours
    rates: LinkRates

    def neighbours(self, key: KeyArray) -> Neighbours:
        """The neighbours of these pages, as rows among them."""
        old_row = rows_of(key, self.key)
        known = np.flatnonzero(old_row >= 0)
        new_row = np.full(len(self.key) + 1, -1)
        new_row[old_row[known]] = known
        row, weight = np.full((len(key), N_NEIGHBOURS), -1), np.zeros((len(key), N_NEIGHBOURS))
        row[known] = new_row[self.near.row[old_row[known]]]
        weight[known] = np.where(row[known] >= 0, self.near.weight[old_row[known]], 0.0)
        return Neighbours(row, weight)


def _read(pages: Pages, last: Fitted) -> None:
    """Bring the vectors up to date: read the copies that changed since the last fit."""
    texts, old_row = last.texts, rows_of(pages.key, last.key)
    texts.reindex(old_row)
    changed = (old_row < 0) | (np.fmax(pages.first_visit, pages.last_change) >= last.at)
    if texts.is_outgrown(int((~np.isnan(pages.first_visit)).sum())):
        changed[:] = True
        texts.learn(pages, np.arange(len(pages)))
    rows = np.flatnonzero(changed)
    texts.update(rows, pages.take(rows).texts())


def _neighbours(pages: Pages, vectors: NDArray[np.float32]) -> Neighbours:
    """The pages of similar text; for pages without text, their URL siblings."""
    by_text = nearest(vectors, N_NEIGHBOURS)
    alone: BoolArray = by_text.weight.sum(axis=1) == 0.0
    if not alone.any():
        return by_text
    siblings = url_siblings(pages.urls(), N_NEIGHBOURS)
    row = np.where(alone[:, None], siblings.row, by_text.row)
    return Neighbours(row, np.where(alone[:, None], siblings.weight, by_text.weight))
