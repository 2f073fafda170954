"""How many new links a day would each page show, by its visits and those of pages like it?

Look back, look around (Dang et al. 2021), learned from recorded visits alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.history.intervals import past
from recrawl.lab.learners import is_installed, learner
from recrawl.model import Neighbours
from recrawl.papers.dang.crawls import Interval, Snapshot
from recrawl.papers.dang.families import HISTORY, lbla
from recrawl.papers.dang.feature import table

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Intervals, Pages, Time

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


def link_visits(pages: Pages) -> Intervals:
    """The past visits whose new links are known."""
    intervals = past(pages)
    return intervals.where(np.isfinite(intervals.new_links) & (intervals.days > _BRIEF))


def look(visits: Intervals, near: Neighbours, *, before: Time = np.inf) -> Snapshot:
    """The last visits to each page before a time."""
    first = visits.start[:-1]
    return _look(visits, first, first + visits.sums(visits.at < before).astype(np.int64), near)


def look_before_each(visits: Intervals) -> Snapshot:
    """For every visit the visits to its page before it; nothing related."""
    size = len(visits.at)
    nobody = Neighbours(np.full((size, 1), -1), np.zeros((size, 1)))
    return _look(visits, visits.start[visits.page], np.arange(size), nobody)


def _look(visits: Intervals, first: IntArray, end: IntArray, near: Neighbours) -> Snapshot:
    intervals = [_back(visits, first, end - back) for back in range(HISTORY, 0, -1)]
    unknown = np.full(len(first), np.nan)
    target = Interval(np.ones(len(first)), unknown, unknown)
    return Snapshot((), [*intervals, target], near)


def _back(visits: Intervals, first: IntArray, row: IntArray) -> Interval:
    row = np.where(row >= first, row, len(visits.at))
    days, new = np.append(visits.days, 1.0)[row], np.append(visits.new_links, np.nan)[row]
    return Interval(days, new, np.zeros(len(new)))


@dataclass
class LinkRates:
    """New links a day: a boosted Poisson model where enough was seen, else a closed form."""

    seed: int = 0
    model_: Any = None
    used_: BoolArray | None = None  #: features of which anything was known

    def fit(self, visits: Intervals, near: Neighbours) -> LinkRates:
        """Learn from visits, each with what was known before it."""
        self.model_ = None
        if (visits.new_links > 0).sum() >= EVENTS:
            name = "lightgbm" if is_installed("lightgbm") else "hist-boost"
            model = learner(name, "count", seed=self.seed, **_FAST[name])
            x = examples(visits, near)
            self.used_ = np.isfinite(x).sum(axis=0) > 0
            if x[:, self.used_].size:
                daily = visits.new_links / visits.days
                self.model_ = model.fit(x[:, self.used_], daily, sample_weight=visits.days)
        return self

    def predict(self, visits: Intervals, near: Neighbours) -> FloatArray:
        """Of each page; finite and above 0."""
        now = look(visits, near)
        if self.model_ is None:
            return _closed(visits, now)
        x = _joined(table(now, OWN), table(now, RELATED))
        daily: FloatArray = self.model_.predict(x[:, self.used_])
        return daily


def examples(visits: Intervals, near: Neighbours) -> FloatArray:
    """What was known before each visit: a row each, of features.

    The page's own past is that up to the visit; related pages are looked at a few times only, each
    look serving the visits from then to the next.
    """
    moments = np.unique(np.quantile(visits.at, np.arange(MOMENTS) / MOMENTS, method="lower"))
    own, page = table(look_before_each(visits), OWN), visits.page
    related = np.full((len(own), len(RELATED)), np.nan)
    which = np.searchsorted(moments, visits.at, side="right") - 1
    for number, moment in enumerate(moments):
        mine = which == number
        related[mine] = table(look(visits, near, before=moment), RELATED)[page[mine]]
    return _joined(own, related)


def _joined(own: FloatArray, related: FloatArray) -> FloatArray:
    """All features of a row; for the mean of a page never compared stands that of related ones."""
    mean = len(OWN) - 1
    own[:, mean] = np.where(np.isnan(own[:, mean]), related[:, mean], own[:, mean])
    return np.hstack([own, related])


def _closed(visits: Intervals, now: Snapshot) -> FloatArray:
    """A gamma mean: the page's own visits, and related pages' mean for some days more."""
    overall = (visits.new_links.sum() + 0.5) / (visits.days.sum() + 0.5)
    new, days = visits.sums(visits.new_links), visits.sums(visits.days)
    around = np.nan_to_num(table(now, [RELATED[len(OWN) - 1]])[:, 0], nan=overall)
    daily: FloatArray = (new + PRIOR * (0.9 * around + 0.1 * overall)) / (days + PRIOR)
    return daily
