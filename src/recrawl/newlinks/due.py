"""How many new links are due on each page? A closed form: its own past, and what its kin showed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import DAY
from recrawl.neighbours.urls import groups, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Pages, Time
    from recrawl.newlinks.visits import LinkVisits

SAME_VISIT = 0.5  #: seconds: two times nearer than this are one


@dataclass
class DueLinks:
    """The new links expected now: those due by the page's own past, and those its kin showed.

    How often there are any and how many then are estimated apart, each shrunk towards the pages
    whose URLs begin alike. Visits to the nearest of these, its kin, also speak of the page: what
    they showed since our visit it shows with a probability learned from such cases, and where they
    showed nothing less is due. A page shows no more links than it has. Never 0 but for a page
    visited just now.
    """

    #: pages, their groups and nearest group; kept, because URLs take long to take apart
    kin_: tuple[KeyArray, list[IntArray], IntArray] | None = field(default=None, init=False)

    def expected(self, pages: Pages, past: LinkVisits, now: Time) -> FloatArray:
        """New links that a visit to each page would show now, by what visits have shown."""
        if not len(pages):
            return np.zeros(0)
        levels, near = self._groups(pages)
        rate, size = _rate(past, levels), _size(past, levels)
        mates = Kin.of(past, near, rate)
        since = np.where(np.isnan(pages.last_visit), pages.first_seen, pages.last_visit)
        days = pages.days_since_visit(now)
        told = mates.share * mates.shown_since(since)
        quiet = days - np.minimum(mates.days_since_visit(pages.last_visit, now), days)

        def expected(quiet: FloatArray) -> FloatArray:
            return visible(rate * size * (days - mates.share * quiet) + told, past)

        alone = expected(quiet)
        first = mates.first(alone, pages.key)
        return np.where(first, alone, expected(days))  # others: as if the first were visited now

    def _groups(self, pages: Pages) -> tuple[list[IntArray], IntArray]:
        if self.kin_ is None or not np.array_equal(self.kin_[0], pages.key):
            levels = groups(pages.urls())
            self.kin_ = (pages.key, levels, nearest(levels))
        return self.kin_[1:]


def visible(links: FloatArray, past: LinkVisits) -> FloatArray:
    """How many of the new links a page can show at once: seldom more than it has room for."""
    room = np.maximum(past.links, 1.0)
    return -room * np.expm1(-links / room)


def _rate(past: LinkVisits, levels: Sequence[IntArray]) -> FloatArray:
    """Visits with new links a day: a gamma mean.

    The prior is worth one mean time between such visits, at every level: strong where new links are
    rare, weak where they are daily. A group counts as one page, the mean of the others in it:
    pages of a group change together, so a thousand of them tell little more.
    """
    events, days = past.over_page(past.any), past.over_page(past.days)
    overall = (events.sum() + 0.5) / (days.sum() + 0.5)
    return _shrunk(events, days, 1.0 / overall, overall, levels)


def _size(past: LinkVisits, levels: Sequence[IntArray]) -> FloatArray:
    """New links of a visit that shows any: a geometric mean, the prior worth one such visit."""
    logs, events = past.over_page(np.log(np.maximum(past.new, 1.0))), past.over_page(past.any)
    overall = float(logs.sum() / max(events.sum(), 1.0))
    return np.exp(_shrunk(logs, events, 1.0, overall, levels))


def _shrunk(
    count: FloatArray, of: FloatArray, weight: float, overall: float, levels: Sequence[IntArray]
) -> FloatArray:
    """The mean count / of by page, shrunk towards its groups' from the smallest to the largest."""
    mean = np.full(len(count), overall)
    for group in levels:
        others = np.maximum(np.bincount(group)[group] - 1.0, 1.0)
        counted = (np.bincount(group, count)[group] - count) / others
        among = (np.bincount(group, of)[group] - of) / others
        mean = np.maximum(counted + weight * mean, 0.0) / (among + weight)
    return (count + weight * mean) / (of + weight)


@dataclass(frozen=True)
class Kin:
    """What the visits to a page's kin say of it."""

    group: IntArray  #: of each page
    share: FloatArray  #: by page: part of the new links of its kin that it shows too
    times: FloatArray  #: of visits with new links, each time once
    key: IntArray  #: of visits with new links, ascending: group, then place in times
    new: FloatArray  #: of these visits

    @staticmethod
    def of(past: LinkVisits, group: IntArray, rate: FloatArray) -> Kin:
        """Learn what new links of kin are worth, from the visits after which they were known.

        Small groups are nearer kin than large ones, so each doubling of the size has a share of
        its own: of the visits whose kin showed new links in the same interval, those that showed
        some as well, beyond what was to be expected.
        """
        event = past.any > 0
        times = np.unique(past.at[event])
        key = _key(group[past.page[event]], past.at[event], times)
        order = np.argsort(key, kind="stable")
        kin = Kin(group, np.zeros(past.pages), times, key[order], past.new[event][order])
        begun, there = (
            kin.before(past.at - past.days * DAY, past.page),
            kin.before(past.at, past.page),
        )
        told = (there - begun - event) > 0
        kind = np.log2(np.bincount(group)[group]).astype(np.int64)
        of_visit = kind[past.page[told]]
        surprise = past.any[told] + np.expm1(-rate[past.page[told]] * past.days[told])
        most = kind.max() + 1
        excess = np.maximum(np.bincount(of_visit, surprise, minlength=most), 0.0)
        share = excess / (np.bincount(of_visit, minlength=most) + 1.0)
        return Kin(group, share[kind], times, kin.key, kin.new)

    def before(self, at: FloatArray, page: IntArray) -> IntArray:
        """How many visits with new links there are up to a time, in groups up to that of a page."""
        return np.searchsorted(
            self.key, _key(self.group[page], at + SAME_VISIT, self.times), "right"
        )

    def shown_since(self, at: FloatArray) -> FloatArray:
        """New links of the last visit to kin that showed any after a time; 0 where none did."""
        every = np.arange(len(self.group))
        begun, there = self.before(at, every), self.before(np.full(len(at), np.inf), every)
        return np.where(there > begun, np.append(self.new, 0.0)[there - 1], 0.0)

    def days_since_visit(self, last: FloatArray, now: Time) -> FloatArray:
        """Since the last visit to the page or any of its kin; inf where there was none."""
        latest = np.full(self.group.max() + 1, -np.inf)
        np.maximum.at(latest, self.group, np.nan_to_num(last, nan=-np.inf))
        return np.maximum(now - latest[self.group], 0.0) / DAY

    def first(self, score: FloatArray, key: KeyArray) -> BoolArray:
        """Which page is the best of its kin?"""
        order = np.lexsort((key, -score, self.group))
        best = np.zeros(len(order), np.bool_)
        best[order[np.diff(self.group[order], prepend=-1) != 0]] = True
        return best


def _key(group: IntArray, at: FloatArray, times: FloatArray) -> IntArray:
    """One number that sorts by group, then by place in times."""
    return group * (len(times) + 1) + np.searchsorted(times, at, "right")
