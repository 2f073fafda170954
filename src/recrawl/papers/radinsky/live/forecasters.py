"""How likely does a visit show a change, by what recorded visits to it and to its like have shown?

Examples are compared visits: what was known before each, and whether it showed a change. Nothing is
made up for days without a visit. The models of Radinsky & Bennett (2013) in partially observed use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.auto import trees as boosted
from recrawl.errors import BadInput
from recrawl.history.intervals import past
from recrawl.model import DAY, Forecast, Neighbours, rows_of
from recrawl.papers.radinsky.before import Before
from recrawl.papers.radinsky.learners.page_svms import machines
from recrawl.papers.radinsky.live.visit_log import Diary, due
from recrawl.papers.radinsky.relatedness.correlation import correlated
from recrawl.papers.radinsky.relatedness.cosine import alike
from recrawl.papers.radinsky.series.word_series import dynamics
from recrawl.rates.forecast import from_rate
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Pages, Time

ENOUGH = 100  #: examples to begin with
MOST = 200_000  #: that are kept, the newest
LEARNERS = ("boosting", "svm")


@dataclass(kw_only=True)
class ContentForecaster:
    """From the page itself: its past, and how its words moved (2D).

    Taught anew every `teach_days`; until there are examples enough it goes by the smoothed rate.
    """

    learner: str = "boosting"  #: one model of all pages; or "svm", one a page
    words: int = 5_000
    teach_days: float = 7.0
    diary_: Diary | None = field(default=None, init=False)
    examples_: tuple[FloatArray, BoolArray, KeyArray] | None = field(default=None, init=False)
    chance_: Callable[..., FloatArray] | None = field(default=None, init=False)
    taught_: Time | None = field(default=None, init=False)

    def fit(self, pages: Pages, until: Time) -> None:
        """Note the visits made since the last call, and learn from them when it is time."""
        if self.learner not in LEARNERS:
            raise BadInput(f"learner must be one of {', '.join(LEARNERS)}. Got {self.learner!r}.")
        first = self.diary_ is None
        if self.diary_ is None:
            self.diary_ = Diary(self.words)
        pages = self.diary_.align(pages)
        visited = self.diary_.visited(pages)
        if "rate" in self.diary_.notes:
            self._learn_from(pages, visited)
        self.diary_.note(pages, visited)
        self._look_around(until)
        if first:
            self._remember(pages)
        if due(self.taught_, until, self.teach_days):
            self._teach(until)

    def forecast(self, pages: Pages, at: Time) -> Forecast:
        """How likely a visit at that time shows a change; of a page never visited, by its rate."""
        plain = from_rate(smoothed(pages), pages.days_since_visit(at))
        if self.chance_ is None or self.diary_ is None or not len(pages):
            return plain
        place = rows_of(pages.key, self.diary_.key)
        there = (place >= 0) & np.isfinite(pages.last_visit)
        rows = place[there]
        p = plain.p_change.copy()
        when = np.full(len(rows), at)
        p[there] = self.chance_(self._table(rows, when), pages.key[there])
        return Forecast(p)

    def _learn_from(self, pages: Pages, visited: BoolArray) -> None:
        """Keep what was known before each visit and what it showed."""
        assert self.diary_ is not None
        before = self.diary_.notes
        compared = visited & (pages.n_compared > np.nan_to_num(before["compared"]))
        rows = np.flatnonzero(compared & np.isfinite(before["visit"]))
        table = self._table(rows, pages.last_visit[rows])
        new = (table, pages.last_change[rows] == pages.last_visit[rows], pages.key[rows])
        if self.examples_ is not None:
            new = tuple(
                np.concatenate(both)[-MOST:] for both in zip(self.examples_, new, strict=True)
            )  # type: ignore[assignment]
        self.examples_ = new

    def _remember(self, pages: Pages) -> None:
        """The examples of visits made before this was born; of old copies nothing is known."""
        before = Before(past(pages))
        kept = slice(-MOST, None)
        table = np.column_stack([before.columns(), self._around(before)])
        self.examples_ = (table[kept], before.past.changed[kept], pages.key[before.past.page[kept]])

    def _around(self, before: Before) -> FloatArray:
        """What experts had shown before each of these visits."""
        return np.empty((len(before.past.page), 0))

    def _look_around(self, now: Time) -> None:
        """A page by itself has nobody to look at."""

    def _teach(self, now: Time) -> None:
        if self.examples_ is None or len(self.examples_[1]) < ENOUGH:
            return
        rows, yes, page = self.examples_
        if self.learner == "svm":
            self.chance_ = machines(rows, yes, page)
        else:
            self.chance_ = _Pooled(boosted.fit(_known(rows), _promised(rows), yes))
        self.taught_ = now

    def _table(self, rows: IntArray, at: FloatArray) -> FloatArray:
        """What is known of pages at a time of their own; the first column: days since the visit."""
        assert self.diary_ is not None
        notes = self.diary_.notes
        days = np.maximum(at - notes["visit"][rows], 0.0) / DAY
        names = ("rate", "often", "compared", "bit", "bit_before", "quiet", "moved", "moved_before")
        return np.column_stack([days, *(notes[name][rows] for name in names)])


@dataclass(frozen=True)
class _Pooled:
    """How much likelier than its rate promises, learned of all pages: so it grows while unseen.

    Else a page once taken for quiet would never be visited again, and nothing learned of it.
    """

    trees: boosted.Boosted

    def __call__(self, rows: FloatArray, _: KeyArray) -> FloatArray:
        log_s = _promised(rows) + self.trees.log_ratio(_known(rows))
        p: FloatArray = -np.expm1(-np.exp(log_s))
        return p


def _promised(rows: FloatArray) -> FloatArray:
    """Log of days × rate, the first two columns."""
    found: FloatArray = np.log(np.maximum(rows[:, 0] * rows[:, 1], 1e-12))
    return found


def _known(rows: FloatArray) -> NDArray[np.float32]:
    """The columns but for days, a row each, as trees take them; none is below 0: unknown is."""
    return np.ascontiguousarray(np.nan_to_num(rows[:, 1:], nan=-1.0).T, np.float32)


@dataclass(kw_only=True)
class ExpertsForecaster(ContentForecaster):
    """From the page and the k pages whose words move along with its own (3D).

    Where none do, those that say most alike. Looked for anew every `look_days`.
    """

    k: int = 20
    look_days: float = 28.0
    near_: tuple[Any, Neighbours] | None = field(default=None, init=False)
    looked_: Time | None = field(default=None, init=False)

    def _look_around(self, now: Time) -> None:
        assert self.diary_ is not None
        same = self.near_ is not None and np.array_equal(self.near_[0], self.diary_.key)
        if (same and not due(self.looked_, now, self.look_days)) or not self.diary_.fetched:
            return
        shown = self.diary_.snapshots()
        near = correlated(dynamics(shown), self.k)
        alone = np.flatnonzero(near.row[:, 0] < 0)
        other = alike(shown, self.k, rows=alone)
        near.row[alone], near.weight[alone] = other.row, other.weight
        self.near_, self.looked_ = (self.diary_.key.copy(), near), now

    def _around(self, before: Before) -> FloatArray:
        unknown = np.full(len(before.past.page), np.nan)
        if self.near_ is None:
            return np.column_stack([unknown] * 6)
        near = self.near_[1]
        row, weight = near.row[before.past.page], near.weight[before.past.page]
        total = weight.sum(axis=1)
        means = [
            np.divide((shown * weight).sum(axis=1), total, out=unknown.copy(), where=total > 0)
            for shown in (before.visited(row), before.visited(row, changed=True))
        ]
        return np.column_stack([*means, unknown, unknown, unknown, total])

    def _table(self, rows: IntArray, at: FloatArray) -> FloatArray:
        """The page's own, and the weighted means of what its experts have shown."""
        mine = super()._table(rows, at)
        assert self.diary_ is not None
        if self.near_ is None or not np.array_equal(self.near_[0], self.diary_.key):
            return np.column_stack([mine, np.full((len(rows), 6), np.nan)])
        notes, near = self.diary_.notes, self.near_[1]
        row, weight = near.row[rows], near.weight[rows]
        since = notes["visit"][rows][:, None]
        shown = [
            (notes["visit"][row] > since).astype(float),
            (notes["change"][row] > since).astype(float),
            *(np.nan_to_num(notes[name][row]) for name in ("rate", "bit", "moved")),
        ]
        total = weight.sum(axis=1)
        means = [
            np.divide(
                (values * weight).sum(axis=1),
                total,
                out=np.full(len(rows), np.nan),
                where=total > 0,
            )
            for values in shown
        ]
        return np.column_stack([mine, *means, total])
