"""How much is a claim of change worth? As much as such claims have been on its host.

Of each kind of signal (sitemap, feed) two numbers are learned from compared visits, by host and
drawn towards those of all hosts: how many of the changes it tells (recall), and how often it claims
one where there was none (false alarms). A page's odds of having changed are multiplied by what that
makes of a claim, or of silence, since its last visit (after Busa-Fekete et al. 2025).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Pages, Signals

DOUBT = 1e-6  #: however often they were right or wrong, the next time it may be otherwise
STRENGTH = 4.0  #: visits that the mean of all hosts counts as, on one host


@dataclass(frozen=True)
class SignalEvidence:
    """What one kind of signal says of pages: a row a page of `rows`."""

    kind: str
    rows: IntArray  #: of the pages it speaks of
    said: FloatArray  #: when they last changed, it claims
    claimed: BoolArray  #: that is after our last visit
    recall: FloatArray
    false_alarms: FloatArray

    def odds(self) -> FloatArray:
        """What the odds of a change are multiplied by."""
        return np.where(
            self.claimed,
            self.recall / self.false_alarms,
            (1 - self.recall) / (1 - self.false_alarms),
        )


def heard(signals: Signals, pages: Pages) -> list[SignalEvidence]:
    """Kind by kind, what signals say of the pages."""
    found = []
    order = np.argsort(pages.page_id)
    for kind in np.unique(signals.latest["kind"]).tolist():
        mine = signals.latest["kind"] == kind
        ids, said = signals.latest["page_id"][mine], signals.latest["said"][mine]
        place = np.searchsorted(pages.page_id, ids, sorter=order)
        place = np.minimum(place, max(len(order) - 1, 0))
        there = pages.page_id[order[place]] == ids if len(order) else np.zeros(len(ids), np.bool_)
        rows, said = order[place[there]], said[there]
        recall, alarms = _trust(signals, kind, pages.host[rows])
        claimed = said > np.nan_to_num(pages.last_visit[rows], nan=-np.inf)
        found.append(SignalEvidence(kind, rows, said, claimed, recall, alarms))
    return found


def odds(all_heard: list[SignalEvidence], pages: int) -> FloatArray:
    """For each page what its odds of having changed are multiplied by."""
    factor = np.ones(pages)
    for one in all_heard:
        factor[one.rows] *= one.odds()
    return factor


def updated(p: FloatArray, factor: FloatArray) -> FloatArray:
    """Probabilities whose odds are multiplied.

    >>> import numpy as np
    >>> updated(np.array([0.5, 0.2]), np.array([9.0, 1.0])).tolist()
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
        said = np.bincount(tally["host"][mine], a, minlength=hosts)
        whole = said + np.bincount(tally["host"][mine], b, minlength=hosts)
        found: FloatArray = ((said + STRENGTH * mean) / (whole + STRENGTH))[host]
        return np.clip(found, DOUBT, 1 - DOUBT)

    return share("found", "missed"), share("false_alarms", "quiet")
