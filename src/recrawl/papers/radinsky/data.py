"""Radinsky & Bennett (2013): which pages, days and related pages is the experiment about?

What is known before the first day foretold settles words and related pages. Only the paper's filter
looks at all days, as it does there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.papers.radinsky.algorithms import Setting
from recrawl.papers.radinsky.features import Page, page
from recrawl.papers.radinsky.relatedness.correlation import correlated
from recrawl.papers.radinsky.relatedness.cosine import alike
from recrawl.papers.radinsky.relatedness.linked import joined
from recrawl.papers.radinsky.relatedness.warping import warped
from recrawl.papers.radinsky.series.days import changes, days_of, snapshots, versions_by_day
from recrawl.papers.radinsky.series.snapshots import MOST_WORDS, Snapshots
from recrawl.papers.radinsky.series.word_series import dynamics

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray, Neighbours

SIZES = (30, 40, 50, 60, 70, 80, 90)  #: training days of Figure 6
COUNTS = (10, 15, 20, 25, 30)  #: experts of Figure 7


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How the experiment is run."""

    pages: int = 300
    alpha: float = 0.3  #: least share of days on which a page's behaviour flips
    n: int = 50  #: training days
    k: int = 20  #: experts, and the page itself
    days: int = 60  #: that are foretold
    window: int = 1  #: the paper's l
    ahead: int = 1  #: the paper's σ
    detector: str = "chi-squared"  #: what counts as a change
    words: int = MOST_WORDS
    figures: bool = False  #: other sizes and numbers of experts too
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"pages": 2, "n": 5, "k": 1, "days": 1, "window": 1, "ahead": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise BadInput(f"{name} must be {value} or more. Got {getattr(self, name)}.")
        if not 0 <= self.alpha <= 1:
            raise BadInput(f"alpha must be from 0 to 1. Got {self.alpha}; try 0.3.")


@dataclass(frozen=True)
class Material:
    """What the experiment is about, the days counted from the first that is needed."""

    snapshots: Snapshots
    changed: FloatArray  #: a row a page, a column a day
    related: dict[str, Neighbours]
    setting: Setting
    passed: int  #: pages that the filter let pass
    among: int

    @cached_property
    def pages(self) -> list[Page]:
        shares = self.snapshots.distributions()
        return [page(self.snapshots, shares, i, self.changed[i]) for i in range(len(self.changed))]

    @property
    def truth(self) -> FloatArray:
        return self.changed[:, self.setting.days + self.setting.ahead]


def prepared(trace: Trace, protocol: Protocol) -> Material:
    """Choose pages and days, count words, judge changes, find related pages."""
    whole, needed = days_of(trace), protocol.n + protocol.days + protocol.ahead
    if whole < needed:
        raise BadInput(
            f"The trace {trace.name} must have n + days + ahead = {needed} days. Got {whole}; "
            "give a smaller --n or --days."
        )
    version = versions_by_day(trace, whole)
    kept, changed, passed = chosen(trace, version, protocol)
    before = max(SIZES) if protocol.figures else protocol.n
    begin = max(whole - protocol.ahead - protocol.days - before - protocol.window, 0)
    changed = changed[:, begin:]
    end = changed.shape[1] - protocol.ahead
    setting = Setting(
        np.arange(end - protocol.days, end), protocol.n, protocol.window, protocol.ahead
    )
    shown = snapshots(trace, version[kept][:, begin:], most=protocol.words, until=setting.first)
    past = replace(shown, copy=shown.copy[:, max(setting.first - protocol.n, 0) : setting.first])
    most = max(COUNTS) if protocol.figures else protocol.k
    told = dynamics(past)
    related = {
        "graph": _linked(trace, version[kept][:, begin + setting.first - 1], kept, protocol.k),
        "content": alike(past, protocol.k),
        "correlation": correlated(told, max(most, protocol.k)),
        "warping": warped(told, protocol.k),
    }
    return Material(shown, changed, related, setting, passed, int(trace.present().sum()))


def chosen(trace: Trace, version: IntArray, protocol: Protocol) -> tuple[IntArray, FloatArray, int]:
    """The pages that flip often enough, or so many of them drawn; their changes; how many do."""
    random = np.random.default_rng(protocol.seed)
    if protocol.alpha <= 0:
        there = _there(version, protocol)
        kept = np.sort(random.permutation(there)[: protocol.pages])
        return kept, changes(trace, version[kept], protocol.detector), len(there)
    passed, changed = passing(trace, version, protocol)
    if len(passed) < 2:
        raise BadInput(
            f"At least 2 pages must change behaviour on a share alpha of the days. On {trace.name} "
            f"{len(passed)} do on {protocol.alpha:g}; give a smaller --alpha or another --detector."
        )
    kept = np.sort(random.permutation(len(passed))[: protocol.pages])
    return passed[kept], changed[kept], len(passed)


def passing(trace: Trace, version: IntArray, protocol: Protocol) -> tuple[IntArray, FloatArray]:
    """The pages whose behaviour flips on a share alpha of the days, and their changes."""
    there = _there(version, protocol)
    moves = (np.diff(version[there], axis=1) != 0).sum(axis=1)
    there = there[2 * moves >= protocol.alpha * (version.shape[1] - 2)]  # others cannot flip enough
    changed = changes(trace, version[there], protocol.detector)
    flips = np.abs(np.diff(changed, axis=1))
    share = np.nansum(flips, axis=1) / np.maximum(np.isfinite(flips).sum(axis=1), 1)
    return there[share >= protocol.alpha], changed[share >= protocol.alpha]


def _there(version: IntArray, protocol: Protocol) -> IntArray:
    """Pages that are there on any of the days that the experiment is about."""
    return np.flatnonzero(version[:, -protocol.days - protocol.n :].max(axis=1) >= 0)


def _linked(trace: Trace, version: IntArray, kept: IntArray, k: int) -> Neighbours:
    """By the links on the pages the day before the first that is foretold."""
    links = trace.links.take(np.maximum(version, 0))
    source = np.repeat(np.arange(len(kept)), np.diff(links.start) * (version >= 0))
    shown = np.repeat(version >= 0, np.diff(links.start))
    target = links.page[links.target[shown]]
    place = np.full(len(trace) + 1, -1)
    place[kept] = np.arange(len(kept))
    target = place[target]
    return joined(source[target >= 0], target[target >= 0], len(kept), k)
