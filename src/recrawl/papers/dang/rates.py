"""How many new links a day would each page show, given its visits and those of similar pages?

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
N_MOMENTS = 12  #: times at which related pages are looked at to learn from
MIN_EVENTS = 20  #: visits with new links before a model is fitted
PRIOR_DAYS = 30.0  #: that related pages count for before that
MIN_DAYS = 1e-3  #: shorter intervals say nothing about a rate
#: One thread: there are few rows.
_FAST: dict[str, dict[str, Any]] = {
    "lightgbm": {"n_estimators": 150, "learning_rate": 0.06, "num_leaves": 15, "n_jobs": 1},
    "hist-boost": {"max_iter": 150, "learning_rate": 0.06, "max_leaf_nodes": 15},
}


def link_visits(pages: Pages) -> Intervals:
    """The past visits whose new links are known."""
    intervals = past(pages)
    return intervals.where(np.isfinite(intervals.new_links) & (intervals.days > MIN_DAYS))


def look(visits: Intervals, near: Neighbours, *, before: Time = np.inf) -> Snapshot:
    """The last visits to each page before a time."""
    first = visits.start[:-1]
    return _look(visits, first, first + visits.sums(visits.at < before).astype(np.int64), near)


def look_before_each(visits: Intervals) -> Snapshot:
    """For every visit the visits to its page before it; no related pages."""
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
    """New links a day: a boosted Poisson model, or a closed form before enough is known."""

    seed: int = 0
    model_: Any = None
    used_: BoolArray | None = None  #: features with any known value

    def fit(self, visits: Intervals, near: Neighbours) -> LinkRates:
        """Fit to visits, each with what was known before it."""
        self.model_ = None
        if (visits.new_links > 0).sum() >= MIN_EVENTS:
            name = "lightgbm" if is_installed("lightgbm") else "hist-boost"
            model = learner(name, "count", seed=self.seed, **_FAST[name])
            x = examples(visits, near)
            self.used_ = np.isfinite(x).sum(axis=0) > 0
            if x[:, self.used_].size:
                daily = visits.new_links / visits.days
                self.model_ = model.fit(x[:, self.used_], daily, sample_weight=visits.days)
        return self

    def predict(self, visits: Intervals, near: Neighbours) -> FloatArray:
        """New links a day of each page; finite and above 0."""
        now = look(visits, near)
        if self.model_ is None:
            return _closed(visits, now)
        x = _joined(table(now, OWN), table(now, RELATED))
        daily: FloatArray = self.model_.predict(x[:, self.used_])
        return daily


def examples(visits: Intervals, near: Neighbours) -> FloatArray:
    """What was known before each visit: one row per visit, one column per feature.

    The page's own past is that up to the visit. Related pages are looked at N_MOMENTS times only,
    each time for the visits until the next.
    """
    moments = np.unique(np.quantile(visits.at, np.arange(N_MOMENTS) / N_MOMENTS, method="lower"))
    own, page = table(look_before_each(visits), OWN), visits.page
    related = np.full((len(own), len(RELATED)), np.nan)
    which = np.searchsorted(moments, visits.at, side="right") - 1
    for number, moment in enumerate(moments):
        mine = which == number
        related[mine] = table(look(visits, near, before=moment), RELATED)[page[mine]]
    return _joined(own, related)


def _joined(own: FloatArray, related: FloatArray) -> FloatArray:
    """All features; the mean of a page never compared is replaced by that of related pages."""
    mean = len(OWN) - 1
    own[:, mean] = np.where(np.isnan(own[:, mean]), related[:, mean], own[:, mean])
    return np.hstack([own, related])


def _closed(visits: Intervals, now: Snapshot) -> FloatArray:
    """A gamma mean: the page's own visits, and the mean of related pages for PRIOR_DAYS more."""
    overall = (visits.new_links.sum() + 0.5) / (visits.days.sum() + 0.5)
    new, days = visits.sums(visits.new_links), visits.sums(visits.days)
    around = np.nan_to_num(table(now, [RELATED[len(OWN) - 1]])[:, 0], nan=overall)
    daily: FloatArray = (new + PRIOR_DAYS * (0.9 * around + 0.1 * overall)) / (days + PRIOR_DAYS)
    return daily
