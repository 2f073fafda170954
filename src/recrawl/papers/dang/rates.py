"""How many new links a day would each page show, by its visits and those of pages like it?

Look back, look around (Dang et al. 2021), learned from recorded visits alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.history.intervals import owners, past, starts
from recrawl.model import Neighbours
from recrawl.papers.dang.crawls import Interval, Snapshot
from recrawl.papers.dang.families import HISTORY, lbla
from recrawl.papers.dang.feature import table
from recrawl.papers.dang.learners import has, learner

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Pages, Time

OWN = [feature for feature in lbla("any") if feature.family == "DP"]
RELATED = [feature for feature in lbla("any") if feature.family == "DN"]
MOMENTS = 12  #: times of which a look around is made to learn from
EVENTS = 20  #: visits with new links that must have been seen before a model is worth it
PRIOR = 30.0  #: days that related pages count as before that
_BRIEF = 1e-3  # days: shorter intervals say nothing of a rate
#: One thread: of the few rows here more would only wait for each other.
_FAST: dict[str, dict[str, Any]] = {
    "lightgbm": {"n_estimators": 150, "learning_rate": 0.06, "num_leaves": 15, "n_jobs": 1},
    "hist-boost": {"max_iter": 150, "learning_rate": 0.06, "max_leaf_nodes": 15},
}


@dataclass(frozen=True)
class Shown:
    """Visits whose new links are known: page after page, oldest first."""

    start: IntArray  #: of each page's
    at: FloatArray
    days: FloatArray
    new: FloatArray

    @staticmethod
    def by(pages: Pages) -> Shown:
        found = past(pages)
        new = found.new_internal + found.new_external
        known = np.isfinite(new) & (found.days > _BRIEF)
        counts = np.bincount(owners(found.start)[known], minlength=len(pages))
        return Shown(starts(counts), found.at[known], found.days[known], new[known])

    def look(self, near: Neighbours, *, before: Time = np.inf) -> Snapshot:
        """The last visits to each page before a time."""
        counts = np.bincount(
            owners(self.start), self.at < before, minlength=len(self.start) - 1
        ).astype(np.int64)
        return self._look(self.start[:-1], self.start[:-1] + counts, near)

    def each(self) -> Snapshot:
        """For every visit the visits to its page before it; nothing related."""
        nobody = Neighbours(np.full((len(self.at), 1), -1), np.zeros((len(self.at), 1)))
        return self._look(self.start[owners(self.start)], np.arange(len(self.at)), nobody)

    def _look(self, first: IntArray, end: IntArray, near: Neighbours) -> Snapshot:
        intervals = [self._back(first, end - back) for back in range(HISTORY, 0, -1)]
        unknown = np.full(len(first), np.nan)
        told = Interval(np.ones(len(first)), unknown, unknown)
        return Snapshot((), [*intervals, told], near)

    def _back(self, first: IntArray, place: IntArray) -> Interval:
        there = place >= first
        place = np.where(there, place, len(self.at))
        days, new = np.append(self.days, 1.0)[place], np.append(self.new, np.nan)[place]
        return Interval(days, new, np.zeros(len(new)))


@dataclass
class LinkRates:
    """New links a day: a boosted Poisson model where enough was seen, else a closed form."""

    seed: int = 0
    model_: Any = None
    used_: BoolArray | None = None  #: features of which anything was known

    def fit(self, shown: Shown, near: Neighbours) -> LinkRates:
        """Learn from visits, each with what was known before it."""
        self.model_ = None
        if (shown.new > 0).sum() >= EVENTS:
            name = "lightgbm" if has("lightgbm") else "hist-boost"
            model = learner(name, "count", seed=self.seed, **_FAST[name])
            x = examples(shown, near)
            self.used_ = np.isfinite(x).sum(axis=0) > 0
            if x[:, self.used_].size:
                daily = shown.new / shown.days
                self.model_ = model.fit(x[:, self.used_], daily, sample_weight=shown.days)
        return self

    def predict(self, shown: Shown, near: Neighbours) -> FloatArray:
        """Of each page; finite and above 0."""
        look = shown.look(near)
        if self.model_ is None:
            return _closed(shown, look)
        x = _joined(table(look, OWN), table(look, RELATED))
        daily: FloatArray = self.model_.predict(x[:, self.used_])
        return daily


def examples(shown: Shown, near: Neighbours) -> FloatArray:
    """What was known before each visit: a row each, of features.

    The page's own past is that up to the visit; related pages are looked at a few times only, each
    look serving the visits from then to the next.
    """
    moments = np.unique(np.quantile(shown.at, np.arange(MOMENTS) / MOMENTS, method="lower"))
    own, page = table(shown.each(), OWN), owners(shown.start)
    related = np.full((len(own), len(RELATED)), np.nan)
    which = np.searchsorted(moments, shown.at, side="right") - 1
    for number, moment in enumerate(moments):
        mine = which == number
        related[mine] = table(shown.look(near, before=moment), RELATED)[page[mine]]
    return _joined(own, related)


def _joined(own: FloatArray, related: FloatArray) -> FloatArray:
    """All features of a row; for the mean of a page never compared stands that of related ones."""
    mean = len(OWN) - 1
    own[:, mean] = np.where(np.isnan(own[:, mean]), related[:, mean], own[:, mean])
    return np.hstack([own, related])


def _closed(shown: Shown, look: Snapshot) -> FloatArray:
    """A gamma mean: the page's own visits, and related pages' mean for some days more."""
    overall = (shown.new.sum() + 0.5) / (shown.days.sum() + 0.5)
    page = owners(shown.start)
    pages = len(shown.start) - 1
    new, days = (np.bincount(page, c, minlength=pages) for c in (shown.new, shown.days))
    around = np.nan_to_num(table(look, [RELATED[len(OWN) - 1]])[:, 0], nan=overall)
    daily: FloatArray = (new + PRIOR * (0.9 * around + 0.1 * overall)) / (days + PRIOR)
    return daily
