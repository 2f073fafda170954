"""What would a visit find, given everything the crawl has shown so far? The whole model."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from recrawl.auto import balance, saved_state
from recrawl.auto.base_rate import PAGE_PRIOR_HITS, mean_rate
from recrawl.auto.calibration import Calibration
from recrawl.auto.features import NAMES, UNTRAINED, FeatureState
from recrawl.auto.group_days import day_of
from recrawl.auto.learner import Learner
from recrawl.model import rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray, Pages, Time
    from recrawl.protocols import History

#: How much more is expected of a page the fewer hits it had, in the policy for new links. This
#: leaves some visits to pages of which little is known.
OPTIMISM = 4.0
BEFORE_ALL_DAYS = -1  #: a day before all others
MAX_RATIO = 1e3  #: of the predicted hits to those of the plain rate, and of the reverse


class HitModel:
    """Predicts how many hits are due on each page of a history, for one kind of event."""

    def __init__(self, event: str = "change", seed: int = 0) -> None:
        self.state = FeatureState(event)
        self.learner = Learner(seed)
        self.calibration = Calibration()
        self.log_ratio = np.zeros(0)  #: by page of the state: hits due over rate × days

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        """Learn from the visits since the last time; once a day, train and save."""
        folder = history.models()
        if folder is not None and not len(self.state.key):
            saved_state.load(self, folder, self.state.event, int(day_of(now)))
        last_day = self.state.group_days.today
        examples = self.state.update(pages, now)
        if examples is None:  # visits arrived late: start again, but keep the models
            self.state, last_day = FeatureState(self.state.event), BEFORE_ALL_DAYS
            self.learner.forget_visits()
            self.calibration = Calibration()
            examples = self.state.update(pages, now) or []
        for day in examples:
            self.calibration.add_visits(day.offset + self._log_ratio(day.columns), day.visits.hit)
            self.learner.add(day)
        is_new_day = self.state.group_days.today > last_day
        if is_new_day:
            self.learner.train()
            self.calibration.fit()
        self.log_ratio = self._log_ratio(self.state.columns)
        if folder is not None and is_new_day:
            with suppress(OSError):  # a read-only store can still be planned from
                saved_state.save(self, folder, self.state.event)

    def _log_ratio(self, columns: NDArray[np.float32]) -> FloatArray:
        """Log of the hits due over rate × days; `columns` has one column per page or visit."""
        log_ratio = self.learner.log_ratio(columns)
        if log_ratio is None:
            log_ratio = columns[NAMES.index(UNTRAINED)].astype(np.float64)
        return np.clip(log_ratio, -np.log(MAX_RATIO), np.log(MAX_RATIO))

    def p_hit(self, pages: Pages, now: Time) -> FloatArray:
        """The probability that a visit to each page is a hit, as far as forecasts came true."""
        return -np.expm1(-self.calibration.corrected(self.hits_due(pages, now)))

    def hits_due(self, pages: Pages, now: Time) -> FloatArray:
        """Hits due on each page by now: s, where a visit is a hit with probability 1 − exp(−s)."""
        row = self.rows(pages)
        known = row >= 0
        rate = self._unknown_rate(pages)
        rate[known] = self.state.rate[row[known]] * np.exp(self.log_ratio[row[known]])
        return rate * pages.days_since_visit(now, rate)

    def exponent(self) -> float:
        """How far visits may follow the rates; see `balance`."""
        state = self.state
        return balance.exponent(state.rate, state.history.n_hits, state.group_days.visits_a_day())

    def optimism(self, pages: Pages) -> FloatArray:
        """The factor by which to raise the hits due: higher for pages with few hits."""
        row = self.rows(pages)
        unknown = pages.n_changes if self.state.event == "change" else 0.0
        n_hits = np.where(row >= 0, np.append(self.state.history.n_hits, 0.0)[row], unknown)
        return 1.0 + OPTIMISM / np.sqrt(n_hits + 0.5)

    def hit_size(self, pages: Pages) -> FloatArray:
        """Geometric mean of the size of a hit, shrunk towards that of all pages."""
        history, row = self.state.history, self.rows(pages)
        overall = history.log_size.sum() / max(history.n_hits.sum(), 1.0)
        mean = np.append((history.log_size + overall) / (history.n_hits + 1.0), overall)
        size: FloatArray = np.exp(mean[row])
        return size

    def _unknown_rate(self, pages: Pages) -> FloatArray:
        """Hits a day for pages that are not in the state yet."""
        if self.state.event != "change":
            history = self.state.history
            return np.full(len(pages), mean_rate(history.events, history.days))
        mean = mean_rate(pages.n_changes, pages.exposure)
        rate = (pages.n_changes + PAGE_PRIOR_HITS) / (pages.exposure + PAGE_PRIOR_HITS / mean)
        return np.asarray(rate)

    def rows(self, pages: Pages) -> IntArray:
        """The row of each page in the state; -1 for a new page."""
        return rows_of(pages.key, self.state.key)
