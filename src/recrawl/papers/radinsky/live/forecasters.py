"""Probability of a change, learned from recorded visits: §3.3 partially observed, §8.3.

Examples are compared visits: what was known before each, and whether it showed a change. Days
without a visit give no example.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recrawl.auto import trees
from recrawl.errors import BadInput
from recrawl.history.intervals import past
from recrawl.model import Forecast, rows_of
from recrawl.papers.radinsky.learners.page_svms import fit_page_svms
from recrawl.papers.radinsky.live.past_examples import PastExamples
from recrawl.papers.radinsky.live.selection import LOOK_DAYS, ExpertSelection, is_due
from recrawl.papers.radinsky.live.visit_log import VisitLog
from recrawl.rates.forecast import from_rate
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Pages, Time

MIN_EXAMPLES = 100  #: before a model is fitted
MAX_EXAMPLES = 200_000  #: the newest are kept
LEARNERS = ("boosting", "svm")
N_EXPERT_FEATURES = 6


@dataclass(kw_only=True)
class ContentForecaster:
    """Learns from the page itself: its past, and how its words moved (2D).

    The model is fitted every `teach_days`; until there are enough examples, the smoothed rate is
    used.
    """

    learner: str = "boosting"  #: one model for all pages; or "svm", one per page
    words: int = 5_000
    teach_days: float = 7.0
    log_: VisitLog | None = field(default=None, init=False)
    examples_: tuple[FloatArray, BoolArray, KeyArray] | None = field(default=None, init=False)
    model_: Callable[[FloatArray, KeyArray], FloatArray] | None = field(default=None, init=False)
    fitted_at_: Time | None = field(default=None, init=False)

    def fit(self, pages: Pages, until: Time) -> None:
        """Record the visits made since the last call; fit the model when `teach_days` are over."""
        if self.learner not in LEARNERS:
            raise BadInput(f"learner must be one of {', '.join(LEARNERS)}. Got {self.learner!r}.")
        first = self.log_ is None
        log = self.log_ = self.log_ or VisitLog(self.words)
        pages = log.align(pages)
        visited = log.visited(pages)
        if not log.is_empty:
            self._add_examples(log, pages, visited)
        log.record(pages, visited)
        self._find_experts(log, until)
        if first:
            self._add_past_examples(pages)
        if is_due(self.fitted_at_, until, self.teach_days):
            self._fit_model(until)

    def forecast(self, pages: Pages, at: Time) -> Forecast:
        """Probability that a visit at `at` shows a change; by the rate for pages never visited."""
        by_rate = from_rate(smoothed(pages), pages.days_since_visit(at))
        if self.model_ is None or self.log_ is None or not len(pages):
            return by_rate
        place = rows_of(pages.key, self.log_.key)
        known = (place >= 0) & np.isfinite(pages.last_visit)
        rows = place[known]
        p = by_rate.p_change.copy()
        features = self._features(self.log_, rows, np.full(len(rows), at))
        p[known] = self.model_(features, pages.key[known])
        return Forecast(p)

    def _add_examples(self, log: VisitLog, pages: Pages, visited: BoolArray) -> None:
        """Add what was known before each new compared visit, and what it showed."""
        compared = visited & (pages.n_compared > np.nan_to_num(log.columns["n_compared"]))
        rows = np.flatnonzero(compared & np.isfinite(log.columns["visit"]))
        features = self._features(log, rows, pages.last_visit[rows])
        new = (features, pages.last_change[rows] == pages.last_visit[rows], pages.key[rows])
        if self.examples_ is not None:
            new = tuple(
                np.concatenate(both)[-MAX_EXAMPLES:]
                for both in zip(self.examples_, new, strict=True)
            )  # type: ignore[assignment]
        self.examples_ = new

    def _add_past_examples(self, pages: Pages) -> None:
        """Start with the visits made before the first call; their copies are unknown."""
        examples = PastExamples(past(pages))
        features = np.column_stack([examples.features(), self._past_expert_features(examples)])
        kept = slice(-MAX_EXAMPLES, None)
        intervals = examples.past
        self.examples_ = (
            features[kept],
            intervals.changed[kept],
            pages.key[intervals.page[kept]],
        )

    def _fit_model(self, now: Time) -> None:
        if self.examples_ is None or len(self.examples_[1]) < MIN_EXAMPLES:
            return
        rows, yes, key = self.examples_
        if self.learner == "svm":
            self.model_ = fit_page_svms(rows, yes, key)
        else:
            self.model_ = _RateTrees(trees.fit(_tree_columns(rows), _log_expected(rows), yes))
        self.fitted_at_ = now

    def _features(self, log: VisitLog, rows: IntArray, at: FloatArray) -> FloatArray:
        """Features of pages, each at a time of its own."""
        return log.features(rows, at)

    def _past_expert_features(self, examples: PastExamples) -> FloatArray:
        """What the experts had shown before each past visit; no columns without experts."""
        return np.empty((len(examples.past.page), 0))

    def _find_experts(self, log: VisitLog, now: Time) -> None:
        """Without effect here: the only expert is the page itself."""


@dataclass(frozen=True)
class _RateTrees:
    """The rate times a factor learned from all pages, so p grows while a page is not visited.

    Otherwise a page once judged quiet would never be visited again, and nothing learned of it.
    """

    trees: trees.BoostedTrees

    def __call__(self, rows: FloatArray, _: KeyArray) -> FloatArray:
        log_s = _log_expected(rows) + self.trees.log_ratio(_tree_columns(rows))
        p: FloatArray = -np.expm1(-np.exp(log_s))
        return p


def _log_expected(rows: FloatArray) -> FloatArray:
    """Log of days × rate, the first two columns."""
    log: FloatArray = np.log(np.maximum(rows[:, 0] * rows[:, 1], 1e-12))
    return log


def _tree_columns(rows: FloatArray) -> NDArray[np.float32]:
    """All columns except days, transposed; NaN becomes -1, which no known value is."""
    return np.ascontiguousarray(np.nan_to_num(rows[:, 1:], nan=-1.0).T, np.float32)


@dataclass(kw_only=True)
class ExpertsForecaster(ContentForecaster):
    """Learns from the page and the k pages whose words move with its own (3D).

    Where no words move together, the pages with the most similar text. Experts are selected every
    `look_days`, and when pages are added.
    """

    k: int = 20
    look_days: float = LOOK_DAYS
    selection_: ExpertSelection | None = field(default=None, init=False)

    def _find_experts(self, log: VisitLog, now: Time) -> None:
        if self.selection_ is None:
            self.selection_ = ExpertSelection(self.k, self.look_days, or_similar=True)
        self.selection_.update(log, now)

    def _past_expert_features(self, examples: PastExamples) -> FloatArray:
        page = examples.past.page
        unknown = np.full(len(page), np.nan)
        experts = self.selection_.experts if self.selection_ else None
        if experts is None:
            return np.column_stack([unknown] * N_EXPERT_FEATURES)
        row, weight = experts.row[page], experts.weight[page]
        visited, changed = examples.visited(row), examples.visited(row, changed=True)
        means = _weighted_means([visited, changed], weight)
        return np.column_stack([*means, unknown, unknown, unknown, weight.sum(axis=1)])

    def _features(self, log: VisitLog, rows: IntArray, at: FloatArray) -> FloatArray:
        """Those of the page; weighted means over its experts; the sum of their weights.

        Of an expert: whether it was visited, and changed, since the page's last visit; its rate;
        whether it changed at its last visit; how far its words moved.
        """
        own = super()._features(log, rows, at)
        experts = self.selection_.of(log) if self.selection_ else None
        if experts is None:
            return np.column_stack([own, np.full((len(rows), N_EXPERT_FEATURES), np.nan)])
        row, weight = experts.row[rows], experts.weight[rows]
        since = log.columns["visit"][rows][:, None]
        values = [
            (log.columns["visit"][row] > since).astype(float),
            (log.columns["change"][row] > since).astype(float),
            *(np.nan_to_num(log.columns[name][row]) for name in ("rate", "changed", "distance")),
        ]
        means = _weighted_means(values, weight)
        return np.column_stack([own, *means, weight.sum(axis=1)])


def _weighted_means(values: list[FloatArray], weight: FloatArray) -> list[FloatArray]:
    """Means over the columns of each array; NaN where the weights sum to 0."""
    total = weight.sum(axis=1)
    unknown = np.full(len(total), np.nan)
    return [
        np.divide((value * weight).sum(axis=1), total, out=unknown.copy(), where=total > 0)
        for value in values
    ]
