"""Probability of a change by the vote of experts, as in the paper's crawl (§5.3.1, §8.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import Forecast, rows_of
from recrawl.papers.radinsky.live.expert_svms import ExpertSvms, fit_expert_svms, vote
from recrawl.papers.radinsky.live.selection import ExpertSelection, is_due
from recrawl.papers.radinsky.live.visit_log import VisitLog

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time

CYCLES_KEPT = 365  #: whose copies may be examples


@dataclass(kw_only=True)
class ExpertVote:
    """Learns an SVM for each page and expert; the page itself is one of its experts.

    With k = 0 it is the only one: the single expert of §5.2 (2D). The SVMs are fitted every
    `teach_days`. A page with too few examples has its share of visits that showed a change, as
    the baseline (1D).
    """

    k: int = 20
    words: int = 5_000
    teach_days: float = 7.0
    log_: VisitLog | None = field(default=None, init=False)
    selection_: ExpertSelection | None = field(default=None, init=False)
    model_: ExpertSvms | None = field(default=None, init=False)
    fitted_at_: Time | None = field(default=None, init=False)

    def fit(self, pages: Pages, until: Time) -> None:
        """Record the visits made since the last call; fit the SVMs when `teach_days` are over."""
        log = self.log_ = self.log_ or VisitLog(self.words, CYCLES_KEPT)
        selection = self.selection_ = self.selection_ or ExpertSelection(max(self.k, 1))
        pages = log.align(pages)
        log.record(pages, log.visited(pages))
        if self.k:
            selection.update(log, until)
        if log.fetched and is_due(self.fitted_at_, until, self.teach_days):
            self.model_ = fit_expert_svms(log, selection.of(log))
            self.fitted_at_ = until

    def forecast(self, pages: Pages, at: Time) -> Forecast:
        """Probability that a visit at `at` shows a change."""
        p = change_share(pages)
        if self.model_ is not None and self.log_ is not None:
            rows = rows_of(self.model_.key, self.log_.key)
            votes = vote(self.model_.p_change(self.log_, rows, at), self.model_.weight)
            place = rows_of(pages.key, self.model_.key)
            p = np.where(place >= 0, votes[place], p)
        return Forecast(p)


def change_share(pages: Pages) -> FloatArray:
    """Share of compared visits that showed a change, smoothed: the baseline (1D)."""
    share: FloatArray = (pages.n_changes + 0.5) / (pages.n_compared + 1.0)
    return share
