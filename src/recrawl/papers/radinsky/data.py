"""Data of the experiment (§7.1, §7.2): its pages, its days, and the related pages.

Vocabulary and related pages depend only on days before the first prediction. The paper's filter
alone looks at all days, as it does in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.model import Neighbours
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
    vocabulary_of,
)
from recrawl.papers.radinsky.series.snapshots import VOCABULARY_SIZE, Snapshots
from recrawl.papers.radinsky.series.word_series import word_series

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray

TRAINING_SIZES = (30, 40, 50, 60, 70, 80, 90)  #: days, Figure 6
EXPERT_COUNTS = (10, 15, 20, 25, 30)  #: Figure 7


@dataclass(frozen=True, kw_only=True)
class PredictionProtocol:
    """Parameters of the experiment."""

    pages: int = 300  #: targets at most; every page may be an expert
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
    """Days of the targets and of the pages chosen as their experts, one row each.

    Day 0 is the first day that any prediction needs.
    """

    page: IntArray  #: page of the trace, by row
    target: IntArray  #: the rows that are predicted
    snapshots: Snapshots
    changed: FloatArray  #: pages × days
    related: dict[str, Neighbours]  #: by selection method: the experts of each target
    setup: Setup
    n_passing: int  #: pages that pass the filter
    n_present: int  #: pages of the trace

    def days(self, row: int) -> PageDays:
        """The days of one page. Not kept: with many experts they would fill the memory."""
        return page_days(self.snapshots, row, self.changed[row])

    @property
    def truth(self) -> FloatArray:
        """Whether each target changed, targets × days predicted; NaN where unknown."""
        return self.changed[self.target][:, self.setup.days + self.setup.ahead]


def prepare(trace: Trace, protocol: PredictionProtocol) -> ExperimentData:
    """Choose targets and days, find experts among all pages, count words, label changes."""
    days, needed = days_of(trace), protocol.n + protocol.days + protocol.ahead
    if days < needed:
        raise BadInput(
            f"The trace {trace.name} must have n + days + ahead = {needed} days. Got {days}; "
            "give a smaller --n or --days."
        )
    version = versions_by_day(trace, days)
    target, n_passing = choose_targets(trace, version, protocol)
    before = max(TRAINING_SIZES) if protocol.figures else protocol.n
    begin = max(days - protocol.ahead - protocol.days - before - protocol.window, 0)
    end = days - begin - protocol.ahead
    predicted = np.arange(end - protocol.days, end)
    setup = Setup(predicted, protocol.n, protocol.window, protocol.ahead)
    past = version[:, begin : begin + setup.first][:, -protocol.n :]
    column = vocabulary_of(trace, past, words=protocol.words)
    chosen = choose_experts(trace, past, target, column, protocol)
    experts = [near.row[near.row >= 0] for near in chosen.values()]
    page = np.unique(np.concatenate([target, *experts]))
    related = {
        name: Neighbours(np.where(near.row >= 0, np.searchsorted(page, near.row), -1), near.weight)
        for name, near in chosen.items()
    }
    return ExperimentData(
        page,
        np.searchsorted(page, target),
        snapshots_of(trace, version[page, begin:], column),
        changes_by_day(trace, version[page], protocol.detector)[:, begin:],
        related,
        setup,
        n_passing,
        int(trace.present().sum()),
    )


def choose_experts(
    trace: Trace, past: IntArray, target: IntArray, column: IntArray, protocol: PredictionProtocol
) -> dict[str, Neighbours]:
    """The pages of the whole trace most related to each target, by selection method (§6).

    `past` is the version of every page on the `n` days before the first prediction.
    """
    snapshots = snapshots_of(trace, past, column)
    words, k = word_series(snapshots), protocol.k
    most = max(*EXPERT_COUNTS, k) if protocol.figures else k
    return {
        "graph": _linked(trace, past[:, -1], target, k),
        "content": most_similar(snapshots, k, rows=target),
        "correlation": most_correlated(words, most, rows=target),
        "warping": nearest_by_dtw(words, k, rows=target),
    }


def choose_targets(
    trace: Trace, version: IntArray, protocol: PredictionProtocol
) -> tuple[IntArray, int]:
    """At most `protocol.pages` pages that pass the filter; how many pass."""
    if protocol.alpha <= 0:
        passing = _present(version, protocol)
    else:
        passing = passing_pages(trace, version, protocol)
    if len(passing) < 2:
        raise BadInput(
            f"At least 2 pages must change behaviour on a share alpha of the days. On {trace.name} "
            f"{len(passing)} do on {protocol.alpha:g}; give a smaller --alpha or another "
            "--detector."
        )
    drawn = np.random.default_rng(protocol.seed).permutation(passing)[: protocol.pages]
    return np.sort(drawn), len(passing)


def passing_pages(trace: Trace, version: IntArray, protocol: PredictionProtocol) -> IntArray:
    """The pages whose behaviour flips on a share alpha of the days (§7.1)."""
    present = _present(version, protocol)
    n_versions = (np.diff(version[present], axis=1) != 0).sum(axis=1)
    can_pass = 2 * n_versions >= protocol.alpha * (version.shape[1] - 2)
    rows = present[can_pass]
    changed = changes_by_day(trace, version[rows], protocol.detector)
    flips = np.abs(np.diff(changed, axis=1))
    share = np.nansum(flips, axis=1) / np.maximum(np.isfinite(flips).sum(axis=1), 1)
    passing: IntArray = rows[share >= protocol.alpha]
    return passing


def _present(version: IntArray, protocol: PredictionProtocol) -> IntArray:
    """Pages present on any day that the experiment uses."""
    return np.flatnonzero(version[:, -protocol.days - protocol.n :].max(axis=1) >= 0)


def _linked(trace: Trace, version: IntArray, target: IntArray, k: int) -> Neighbours:
    """Pages joined to each target by the links on these versions of all pages."""
    links = trace.links.take(np.maximum(version, 0))
    n_links = np.diff(links.start)
    source = np.repeat(np.arange(len(version)), n_links * (version >= 0))
    linked = links.page[links.target[np.repeat(version >= 0, n_links)]]
    inside = linked >= 0
    return linked_pages(source[inside], linked[inside], len(version), k, rows=target)
