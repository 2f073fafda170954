"""What would a visit find, by all that the crawl has shown so far?"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from recrawl.auto import kept
from recrawl.auto.features import NAMES, START, FeatureState
from recrawl.auto.group_days import day_of
from recrawl.auto.learner import Learner
from recrawl.auto.prior import PAGE, mean_rate
from recrawl.model import rows_of

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, Pages, Time
    from recrawl.protocols import History

#: How much more is hoped of a page the less often it was seen to be a hit. That leaves a little to
#: pages of which little is known, and gains freshness by it.
OPTIMISM = 4.0
NEVER = -1  #: a day before all others
MOST = 1e3  #: times the rate promises, or a part of it: further nothing is believed


class Online:
    """Watches the pages of a history for one kind of event, and learns when visits show it."""

    def __init__(self, event: str = "change", seed: int = 0) -> None:
        self.watch = FeatureState(event)
        self.learner = Learner(seed)
        self.log_ratio = np.zeros(0)  #: of the hits expected of a page over rate × days

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        """Take up what was recorded since the last time."""
        folder = history.models()
        if folder is not None and not len(self.watch.key):
            kept.load(self, folder, self.watch.event, int(day_of(now)))
        day = self.watch.day.today
        told = self.watch.learn(pages, now)
        if told is None:  # visits came late: begin anew, but for the models
            self.watch, day = FeatureState(self.watch.event), NEVER
            self.learner.forget_visits()
            told = self.watch.learn(pages, now) or []
        for one in told:
            self.learner.add(one)
        new_day = self.watch.day.today > day
        if new_day:
            self.learner.train()
        found = self.learner.log_ratio(self.watch.columns)
        if found is None:
            found = self.watch.columns[NAMES.index(START)].astype(np.float64)
        self.log_ratio = np.clip(found, -np.log(MOST), np.log(MOST))
        if folder is not None and new_day:
            with suppress(OSError):  # a store that cannot be written to can be planned from
                kept.save(self, folder, self.watch.event)

    def hits(self, pages: Pages, now: Time) -> FloatArray:
        """How many hits are due at each page by now: s, where a visit is one with 1 − exp(−s)."""
        row = self.rows(pages)
        known = row >= 0
        rate = self._rate(pages)
        rate[known] = self.watch.rate[row[known]] * np.exp(self.log_ratio[row[known]])
        return rate * pages.days_since_visit(now)

    def optimism(self, pages: Pages) -> FloatArray:
        """How many times the hits due are hoped for: more where few were seen."""
        row = self.rows(pages)
        unknown = pages.n_changes if self.watch.event == "change" else 0.0
        seen = np.where(row >= 0, np.append(self.watch.own.count, 0.0)[row], unknown)
        return 1.0 + OPTIMISM / np.sqrt(seen + 0.5)

    def size(self, pages: Pages) -> FloatArray:
        """What a hit shows: the geometric mean, drawn towards that of all pages."""
        own, row = self.watch.own, self.rows(pages)
        overall = own.size.sum() / max(own.count.sum(), 1.0)
        mean = np.append((own.size + overall) / (own.count + 1.0), overall)
        size: FloatArray = np.exp(mean[row])
        return size

    def _rate(self, pages: Pages) -> FloatArray:
        """Hits a day of pages not known yet; of changes their columns tell."""
        if self.watch.event != "change":
            own = self.watch.own
            return np.full(len(pages), mean_rate(own.events, own.days))
        mean = mean_rate(pages.n_changes, pages.exposure)
        return np.asarray((pages.n_changes + PAGE) / (pages.exposure + PAGE / mean))

    def rows(self, pages: Pages) -> IntArray:
        """Where the pages are; -1 for one not known yet."""
        return rows_of(pages.key, self.watch.key)
