"""How many new links would a visit to each page show? A closed form without fitted parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import DAY
from recrawl.neighbours.url_groups import prefix_groups, smallest_shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import BoolArray, FloatArray, IntArray, Intervals, KeyArray, Pages, Time

MANY_LINKS = 1e12  #: more than any page has
SAME_VISIT_SECONDS = 0.5  #: two times closer than this are one


@dataclass
class DueLinks:
    """The new links expected now: those due by the page's own past, and those its siblings showed.

    How often a visit shows any and how many it then shows are estimated separately. Each is shrunk
    towards the pages whose URLs begin alike. The siblings of a page are the pages in the smallest
    such group. New links that they showed since our visit are expected here too, with a probability
    learned from such cases; where they showed nothing, less is due. A page shows no more links than
    it has. The result is 0 only for a page visited just now.
    """

    #: page keys, prefix groups and sibling group; kept because parsing URLs is slow
    groups_: tuple[KeyArray, list[IntArray], IntArray] | None = field(default=None, init=False)

    def expected(self, pages: Pages, past: Intervals, now: Time) -> FloatArray:
        """New links that a visit to each page would show now, given past visits."""
        if not len(pages):
            return np.zeros(0)
        levels, group = self._groups(pages)
        has = n_links(past)
        past = past.where(np.isfinite(past.new_links))
        rate, size = _rate(past, levels), _size(past, levels)
        siblings = Siblings.of(past, group, rate)
        since = np.where(np.isnan(pages.last_visit), pages.first_seen, pages.last_visit)
        days = pages.days_since_visit(now)
        from_siblings = siblings.share * siblings.new_since(since)
        quiet = days - np.minimum(siblings.days_since_visit(pages.last_visit, now), days)

        def expected(quiet_days: FloatArray) -> FloatArray:
            own = rate * size * (days - siblings.share * quiet_days)
            return visible(own + from_siblings, has)

        alone = expected(quiet)
        best = siblings.best(alone, pages.key)
        return np.where(best, alone, expected(days))  # others: as if the best were visited now

    def _groups(self, pages: Pages) -> tuple[list[IntArray], IntArray]:
        if self.groups_ is None or not np.array_equal(self.groups_[0], pages.key):
            levels = prefix_groups(pages.urls())
            self.groups_ = (pages.key, levels, smallest_shared(levels))
        return self.groups_[1:]


def n_links(past: Intervals) -> FloatArray:
    """How many links each page had at the last visit that counted them; many where unknown."""
    links = np.full(len(past.start) - 1, MANY_LINKS)
    counted = np.isfinite(past.links)
    links[past.page[counted]] = past.links[counted]  # oldest first, so the newest stays
    return links


def visible(links: FloatArray, n_links: FloatArray) -> FloatArray:
    """How many of the new links a page can show at once: it seldom shows more than it has now."""
    room = np.maximum(n_links, 1.0)
    return -room * np.expm1(-links / room)


def _rate(past: Intervals, levels: Sequence[IntArray]) -> FloatArray:
    """Visits with new links a day: a gamma mean.

    The prior counts as one mean time between such visits, at every level: strong where new links
    are rare, weak where they are daily. A group counts as one page, the mean of the others in it:
    pages of a group change together, so a thousand of them say little more than one.
    """
    events, days = past.sums(past.new_links > 0), past.sums(past.days)
    overall = (events.sum() + 0.5) / (days.sum() + 0.5)
    return _shrunk(events, days, 1.0 / overall, overall, levels)


def _size(past: Intervals, levels: Sequence[IntArray]) -> FloatArray:
    """New links of a visit that shows any: a geometric mean. The prior counts as one such visit."""
    logs = past.sums(np.log(np.maximum(past.new_links, 1.0)))
    events = past.sums(past.new_links > 0)
    overall = float(logs.sum() / max(events.sum(), 1.0))
    return np.exp(_shrunk(logs, events, 1.0, overall, levels))


def _shrunk(
    count: FloatArray, of: FloatArray, weight: float, overall: float, levels: Sequence[IntArray]
) -> FloatArray:
    """The mean count / of by page, shrunk towards its groups' means, smallest group last."""
    mean = np.full(len(count), overall)
    for group in levels:
        others = np.maximum(np.bincount(group)[group] - 1.0, 1.0)
        counted = (np.bincount(group, count)[group] - count) / others
        among = (np.bincount(group, of)[group] - of) / others
        mean = np.maximum(counted + weight * mean, 0.0) / (among + weight)
    return (count + weight * mean) / (of + weight)


@dataclass(frozen=True)
class Siblings:
    """What the visits to a page's siblings say about it."""

    group: IntArray  #: of each page
    share: FloatArray  #: by page: part of its siblings' new links that it shows too
    times: FloatArray  #: of visits with new links, each time once, ascending
    key: IntArray  #: of visits with new links, ascending: group, then place in times
    new: FloatArray  #: new links of these visits

    @staticmethod
    def of(past: Intervals, group: IntArray, rate: FloatArray) -> Siblings:
        """Learn the share from visits before which siblings had shown new links.

        Pages of a small group are more alike than those of a large one, so each doubling of the
        group size has a share of its own: of the visits whose siblings showed new links in the same
        interval, those that showed some as well, beyond what their rate predicts.
        """
        event = past.new_links > 0
        times = np.unique(past.at[event])
        key = _key(group[past.page[event]], past.at[event], times)
        order = np.argsort(key, kind="stable")
        siblings = Siblings(
            group, np.zeros(len(group)), times, key[order], past.new_links[event][order]
        )
        at_begin = siblings.visits_before(past.at - past.days * DAY, past.page)
        at_end = siblings.visits_before(past.at, past.page)
        informed = (at_end - at_begin - event) > 0
        doublings = np.log2(np.bincount(group)[group]).astype(np.int64)
        of_visit = doublings[past.page[informed]]
        expected = -np.expm1(-rate[past.page[informed]] * past.days[informed])
        n_sizes = doublings.max() + 1
        excess = np.bincount(of_visit, event[informed] - expected, minlength=n_sizes)
        share = np.maximum(excess, 0.0) / (np.bincount(of_visit, minlength=n_sizes) + 1.0)
        return Siblings(group, share[doublings], times, siblings.key, siblings.new)

    def visits_before(self, at: FloatArray, page: IntArray) -> IntArray:
        """Visits with new links up to a time, in all groups up to that of each page."""
        key = _key(self.group[page], at + SAME_VISIT_SECONDS, self.times)
        return np.searchsorted(self.key, key, "right")

    def new_since(self, at: FloatArray) -> FloatArray:
        """New links of the last visit in the group that showed any after a time; 0 if none did."""
        every = np.arange(len(self.group))
        begin = self.visits_before(at, every)
        end = self.visits_before(np.full(len(at), np.inf), every)
        return np.where(end > begin, np.append(self.new, 0.0)[end - 1], 0.0)

    def days_since_visit(self, last: FloatArray, now: Time) -> FloatArray:
        """Days since the last visit to the page or any sibling; inf if there was none."""
        latest = np.full(self.group.max() + 1, -np.inf)
        np.maximum.at(latest, self.group, np.nan_to_num(last, nan=-np.inf))
        return np.maximum(now - latest[self.group], 0.0) / DAY

    def best(self, score: FloatArray, key: KeyArray) -> BoolArray:
        """Whether each page has the highest score of its group; ties go to the lowest key."""
        order = np.lexsort((key, -score, self.group))
        is_best = np.zeros(len(order), np.bool_)
        is_best[order[np.diff(self.group[order], prepend=-1) != 0]] = True
        return is_best


def _key(group: IntArray, at: FloatArray, times: FloatArray) -> IntArray:
    """One number that sorts by group, then by place in times."""
    return group * (len(times) + 1) + np.searchsorted(times, at, "right")
