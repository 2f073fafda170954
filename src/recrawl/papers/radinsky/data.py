"""Data of the experiment (§7.1, §7.2): its pages, its days, and the related pages.

Vocabulary and related pages depend only on days before the first prediction. The paper's filter
alone looks at all days, as it does in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.papers.radinsky.algorithms import Setup
from recrawl.papers.radinsky.features import PageDays, page_days
from recrawl.papers.radinsky.relatedness.correlation import most_correlated
from recrawl.papers.radinsky.relatedness.cosine import most_similar
from recrawl.papers.radinsky.relatedness.linked import linked_pages
from recrawl.papers.radinsky.relatedness.warping import nearest_by_dtw
from recrawl.papers.radinsky.series.days import (
    changes_by_day,
    days_of,
    snapshots_of,
    versions_by_day,
)
from recrawl.papers.radinsky.series.snapshots import VOCABULARY_SIZE, Snapshots, word_shares
from recrawl.papers.radinsky.series.word_series import word_series

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray, Neighbours

TRAINING_SIZES = (30, 40, 50, 60, 70, 80, 90)  #: days, Figure 6
EXPERT_COUNTS = (10, 15, 20, 25, 30)  #: Figure 7


@dataclass(frozen=True, kw_only=True)
class PredictionProtocol:
    """Parameters of the experiment."""

    pages: int = 300  #: at most
    alpha: float = 0.3  #: a page's behaviour must flip on this share of the days
    n: int = 50  #: training days
    k: int = 20  #: experts besides the page itself
    days: int = 60  #: days predicted, the last of the trace
    window: int = 1  #: the paper's l
    ahead: int = 1  #: the paper's σ
    detector: str = "chi-squared"  #: what counts as a change
    words: int = VOCABULARY_SIZE
    figures: bool = False  #: also the other training sizes and numbers of experts
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"pages": 2, "n": 5, "k": 1, "days": 1, "window": 1, "ahead": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise BadInput(f"{name} must be {value} or more. Got {getattr(self, name)}.")
        if not 0 <= self.alpha <= 1:
            raise BadInput(f"alpha must be from 0 to 1. Got {self.alpha}; try 0.3.")


@dataclass(frozen=True)
class ExperimentData:
    """Pages, days and related pages; day 0 is the first day that any prediction needs."""

    snapshots: Snapshots
    changed: FloatArray  #: pages × days
    related: dict[str, Neighbours]  #: by selection method
    setup: Setup
    n_passing: int  #: pages that pass the filter
    n_present: int  #: pages of the trace

    @cached_property
    def pages(self) -> list[PageDays]:
        shares = word_shares(self.snapshots.counts)
        return [page_days(self.snapshots, shares, i, row) for i, row in enumerate(self.changed)]

    @property
    def truth(self) -> FloatArray:
        """Whether each page changed, pages × days predicted; NaN where unknown."""
        return self.changed[:, self.setup.days + self.setup.ahead]


def prepare(trace: Trace, protocol: PredictionProtocol) -> ExperimentData:
    """Choose pages and days, count words, label changes, find related pages."""
    days, needed = days_of(trace), protocol.n + protocol.days + protocol.ahead
    if days < needed:
        raise BadInput(
            f"The trace {trace.name} must have n + days + ahead = {needed} days. Got {days}; "
            "give a smaller --n or --days."
        )
    version = versions_by_day(trace, days)
    chosen, changed, n_passing = choose_pages(trace, version, protocol)
    before = max(TRAINING_SIZES) if protocol.figures else protocol.n
    begin = max(days - protocol.ahead - protocol.days - before - protocol.window, 0)
    version, changed = version[chosen][:, begin:], changed[:, begin:]
    end = changed.shape[1] - protocol.ahead
    predicted = np.arange(end - protocol.days, end)
    setup = Setup(predicted, protocol.n, protocol.window, protocol.ahead)
    first = setup.first
    snapshots = snapshots_of(trace, version, words=protocol.words, until=first)
    past = replace(snapshots, copy=snapshots.copy[:, max(first - protocol.n, 0) : first])
    words = word_series(past)
    most = max(*EXPERT_COUNTS, protocol.k) if protocol.figures else protocol.k
    related = {
        "graph": _linked(trace, version[:, first - 1], chosen, protocol.k),
        "content": most_similar(past, protocol.k),
        "correlation": most_correlated(words, most),
        "warping": nearest_by_dtw(words, protocol.k),
    }
    return ExperimentData(snapshots, changed, related, setup, n_passing, int(trace.present().sum()))


def choose_pages(
    trace: Trace, version: IntArray, protocol: PredictionProtocol
) -> tuple[IntArray, FloatArray, int]:
    """At most `protocol.pages` pages that pass the filter, their changes; how many pass."""
    random = np.random.default_rng(protocol.seed)
    if protocol.alpha <= 0:
        present = _present(version, protocol)
        chosen = np.sort(random.permutation(present)[: protocol.pages])
        return chosen, changes_by_day(trace, version[chosen], protocol.detector), len(present)
    passing, changed = passing_pages(trace, version, protocol)
    if len(passing) < 2:
        raise BadInput(
            f"At least 2 pages must change behaviour on a share alpha of the days. On {trace.name} "
            f"{len(passing)} do on {protocol.alpha:g}; give a smaller --alpha or another "
            "--detector."
        )
    drawn = np.sort(random.permutation(len(passing))[: protocol.pages])
    return passing[drawn], changed[drawn], len(passing)


def passing_pages(
    trace: Trace, version: IntArray, protocol: PredictionProtocol
) -> tuple[IntArray, FloatArray]:
    """The pages whose behaviour flips on a share alpha of the days (§7.1), and their changes."""
    present = _present(version, protocol)
    n_versions = (np.diff(version[present], axis=1) != 0).sum(axis=1)
    can_pass = 2 * n_versions >= protocol.alpha * (version.shape[1] - 2)
    rows = present[can_pass]
    changed = changes_by_day(trace, version[rows], protocol.detector)
    flips = np.abs(np.diff(changed, axis=1))
    share = np.nansum(flips, axis=1) / np.maximum(np.isfinite(flips).sum(axis=1), 1)
    return rows[share >= protocol.alpha], changed[share >= protocol.alpha]


def _present(version: IntArray, protocol: PredictionProtocol) -> IntArray:
    """Pages present on any day that the experiment uses."""
    return np.flatnonzero(version[:, -protocol.days - protocol.n :].max(axis=1) >= 0)


def _linked(trace: Trace, version: IntArray, chosen: IntArray, k: int) -> Neighbours:
    """Pages joined by the links on these versions of the chosen pages."""
    links = trace.links.take(np.maximum(version, 0))
    n_links = np.diff(links.start)
    source = np.repeat(np.arange(len(chosen)), n_links * (version >= 0))
    target = links.page[links.target[np.repeat(version >= 0, n_links)]]
    place = np.full(len(trace) + 1, -1)
    place[chosen] = np.arange(len(chosen))
    target = place[target]
    return linked_pages(source[target >= 0], target[target >= 0], len(chosen), k)
