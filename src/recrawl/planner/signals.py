"""How far can a claim of change be believed? As far as earlier claims on its host were right.

Compared visits give two numbers for each kind of signal (sitemap, feed) and host, shrunk towards
those of all hosts: the share of the changes that it reports (recall), and the share of the visits
without a change for which it claims one (false alarms). A claim since the last visit, or its
absence, multiplies the odds that a page has changed (after Busa-Fekete et al. 2025).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import rows_of

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Pages, Signals

MIN_SHARE = 1e-6  #: recall and false alarms are kept this far from 0 and 1
PRIOR_VISITS = 4.0  #: visits to one host that the mean of all hosts counts as


@dataclass(frozen=True)
class SignalEvidence:
    """What one kind of signal claims about pages; the other columns are parallel to `rows`."""

    kind: str
    rows: IntArray  #: of the pages it mentions
    changed_at: FloatArray  #: when they last changed, by its claim
    is_news: BoolArray  #: the claimed change is after our last visit
    recall: FloatArray
    false_alarms: FloatArray

    def odds(self) -> FloatArray:
        """Factor of the odds of a change, for each of `rows`."""
        return np.where(
            self.is_news,
            self.recall / self.false_alarms,
            (1 - self.recall) / (1 - self.false_alarms),
        )


def evidence(signals: Signals, pages: Pages) -> list[SignalEvidence]:
    """What each kind of signal claims about these pages."""
    kinds = []
    for kind in np.unique(signals.latest["kind"]).tolist():
        mine = signals.latest["kind"] == kind
        ids, changed_at = signals.latest["page_id"][mine], signals.latest["said"][mine]
        rows = rows_of(ids, pages.page_id)
        rows, changed_at = rows[rows >= 0], changed_at[rows >= 0]
        recall, alarms = _trust(signals, kind, pages.host[rows])
        is_news = changed_at > np.nan_to_num(pages.last_visit[rows], nan=-np.inf)
        kinds.append(SignalEvidence(kind, rows, changed_at, is_news, recall, alarms))
    return kinds


def odds_factors(signals: list[SignalEvidence], n_pages: int) -> FloatArray:
    """Factor of each page's odds of having changed, over all kinds of signals."""
    factor = np.ones(n_pages)
    for each in signals:
        factor[each.rows] *= each.odds()
    return factor


def multiply_odds(p: FloatArray, factor: FloatArray) -> FloatArray:
    """The probabilities after their odds are multiplied by a factor.

    >>> import numpy as np
    >>> multiply_odds(np.array([0.5, 0.2]), np.array([9.0, 1.0])).tolist()
    [0.9, 0.2]
    """
    new: FloatArray = p * factor / (1 - p + p * factor)
    return new


def _trust(signals: Signals, kind: str, host: IntArray) -> tuple[FloatArray, FloatArray]:
    """Recall and false alarms of a kind on each of these hosts."""
    tally = signals.tally
    mine = tally["kind"] == kind
    hosts = int(max(host.max(initial=-1), tally["host"].max(initial=-1))) + 1

    def share(yes: str, no: str) -> FloatArray:
        a, b = tally[yes][mine], tally[no][mine]
        mean = (a.sum() + 0.5) / (a.sum() + b.sum() + 1)
        hits = np.bincount(tally["host"][mine], a, minlength=hosts)
        visits = hits + np.bincount(tally["host"][mine], b, minlength=hosts)
        shrunk: FloatArray = ((hits + PRIOR_VISITS * mean) / (visits + PRIOR_VISITS))[host]
        return np.clip(shrunk, MIN_SHARE, 1 - MIN_SHARE)

    return share("found", "missed"), share("false_alarms", "quiet")
