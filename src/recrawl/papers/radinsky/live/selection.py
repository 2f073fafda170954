"""Selects the experts of each page from the copies fetched (§6.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import DAY
from recrawl.papers.radinsky.relatedness.correlation import most_correlated
from recrawl.papers.radinsky.relatedness.cosine import most_similar
from recrawl.papers.radinsky.series.word_series import word_series

if TYPE_CHECKING:
    from recrawl.model import KeyArray, Neighbours, Time
    from recrawl.papers.radinsky.live.visit_log import VisitLog

LOOK_DAYS = 28.0  #: from one selection to the next


@dataclass
class ExpertSelection:
    """The k pages whose words move with those of each page.

    Selected every `look_days`, and when pages are added. With `or_similar`, the pages with the most
    similar text where no words move together.
    """

    k: int = 20
    look_days: float = LOOK_DAYS
    or_similar: bool = False
    experts: Neighbours | None = None
    key: KeyArray | None = None  #: of the pages that they were selected for
    at: Time | None = None

    def update(self, log: VisitLog, now: Time) -> None:
        """Select experts if it is time to."""
        current = self.of(log) is not None
        if (current and not is_due(self.at, now, self.look_days)) or not log.fetched:
            return
        snapshots = log.snapshots()
        experts = most_correlated(word_series(snapshots), self.k)
        if self.or_similar:
            without = np.flatnonzero(experts.row[:, 0] < 0)
            similar = most_similar(snapshots, self.k, rows=without)
            experts.row[without], experts.weight[without] = similar.row, similar.weight
        self.experts, self.key, self.at = experts, log.key.copy(), now

    def of(self, log: VisitLog) -> Neighbours | None:
        """The experts of the pages in the log; None if they were selected for other pages."""
        same = self.key is not None and np.array_equal(self.key, log.key)
        return self.experts if same else None


def is_due(last: Time | None, now: Time, days: float) -> bool:
    """Whether `days` have passed since `last`, or there is no `last`."""
    return last is None or now - last >= days * DAY
