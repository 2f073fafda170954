"""On which days did a group of pages change more than usual?

Of each group and day two sums are kept: the changes its visits showed, and those that the rates of
the visited pages promised. Their ratio is the day's multiplier, drawn towards 1. A visit speaks of
all days since the visit before; a change is shared out among them by what the others showed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.model import DAY, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray, KeyArray, Time

KEPT = 64  #: days; before them a multiplier is 1
PRIOR = 0.3  #: changes that a multiplier of 1 counts for
LATE_DAYS = 0.01  #: a visit up to this long after midnight belongs to the day before


def day_of(at: Time | FloatArray) -> IntArray:
    """The number of the day that a visit at a time (seconds) belongs to."""
    return np.floor(at / DAY - LATE_DAYS).astype(np.int64)


class GroupDays:
    """The multipliers of groups, and the sums over all their days.

    `group` has a row a level and a column a page, -1 for none; `called` is the name of each group.
    Times are days.
    """

    def __init__(self, group: IntArray, called: KeyArray, today: int = 0) -> None:
        self.group = group
        self.called = called
        self.today = today
        self.sums = np.zeros((2, len(called)))  #: events and days of all visits
        self.settled = np.zeros((len(called), KEPT), np.float32)  #: changes shown before today
        self.shown = self.settled.copy()  #: and with those of today
        self.due = self.settled.copy()  #: promised
        self.past = np.zeros((len(called), KEPT + 1), np.float32)  #: multipliers before each day
        self.old = np.zeros((4, 0))  #: page, begin, end, rate of visits that showed a change
        self.new = np.zeros((4, 0))  #: and of today's
        _add_up(self.shown, self.due, self.past, today)

    def regrouped(self, group: IntArray, called: KeyArray, place: IntArray) -> GroupDays:
        """The same for other groups: what those of the same name showed; pages are at `place`."""
        other = GroupDays(group, called, self.today)
        at = rows_of(self.called, called)
        same = np.flatnonzero(at >= 0)
        for name in ("settled", "shown", "due", "past"):
            getattr(other, name)[at[same]] = getattr(self, name)[same]
        for name in ("old", "new"):
            hits = getattr(self, name).copy()
            hits[0] = place[hits[0].astype(np.int64)]
            setattr(other, name, hits)
        return other

    def sum_up(self, events: FloatArray, days: FloatArray) -> None:
        """The sums of groups from those of their pages."""
        for level in self.group:
            there = level >= 0
            for row, of_page in enumerate((events, days)):
                self.sums[row] += np.bincount(
                    level[there], of_page[there], minlength=len(self.called)
                )

    def turn(self, day: int) -> bool:
        """Begin a day, if it is a new one: today's visits are settled, the oldest day forgotten."""
        if day <= self.today:
            return False
        hits = np.concatenate([self.old, self.new], axis=1)
        self.old, self.new = hits[:, hits[2] > day - KEPT], np.zeros((4, 0))
        gone = np.arange(self.today + 1, min(day, self.today + KEPT) + 1) % KEPT
        self.shown[:, gone] = self.due[:, gone] = 0.0
        self.today = day
        self.settled = np.zeros_like(self.settled)
        _share(self.group, self.shown, self.due, self.settled, self.old, day)
        self.shown = self.settled.copy()
        _add_up(self.shown, self.due, self.past, day)
        return True

    def add(
        self,
        page: IntArray,
        begin: FloatArray,
        end: FloatArray,
        rate: FloatArray,
        events: FloatArray,
    ) -> None:
        """Visits of today: when the copies before were made, and the changes they stand for."""
        _promise(self.group, self.due, self.sums, page, begin, end, rate, events, self.today)
        hits = np.stack([page, begin, end, rate])[:, events > 0]
        self.new = np.concatenate([self.new, hits], axis=1)
        shown = self.settled.copy()
        _share(self.group, self.shown, self.due, shown, self.new, self.today)
        self.shown = shown
        _add_up(self.shown, self.due, self.past, self.today)

    def since(self, page: IntArray, begin: FloatArray, now: FloatArray) -> NDArray[np.float32]:
        """Log of the mean multiplier from a time until now: a row a level, a column a page."""
        found: NDArray[np.float32] = _since(self.group, self.past, page, begin, now, self.today)
        return found


@njit(cache=True)
def _promise(group, due, sums, page, begin, end, rate, events, today):  # type: ignore[no-untyped-def]
    oldest = today - KEPT + 1
    for i in range(len(page)):
        for level in range(len(group)):
            g = group[level, page[i]]
            if g < 0:
                continue
            sums[0, g] += events[i]
            sums[1, g] += end[i] - begin[i]
            first = max(int(np.floor(begin[i])), oldest)
            for day in range(first, min(int(np.floor(end[i])), today) + 1):
                part = min(end[i], day + 1.0) - max(begin[i], float(day))
                due[g, day % KEPT] += rate[i] * max(part, 0.0)


@njit(cache=True)
def _share(group, before, due, shown, hits, today):  # type: ignore[no-untyped-def]
    oldest = today - KEPT + 1
    weight = np.empty(KEPT)
    for i in range(hits.shape[1]):
        page, begin, end, rate = int(hits[0, i]), hits[1, i], hits[2, i], hits[3, i]
        first, last = max(int(np.floor(begin)), oldest), min(int(np.floor(end)), today)
        lost = max(min(float(oldest), end) - begin, 0.0)  # in days no longer kept
        for level in range(len(group)):
            g = group[level, page]
            if g < 0:
                continue
            total = lost
            for day in range(first, last + 1):
                part = max(min(end, day + 1.0) - max(begin, float(day)), 0.0)
                d = day % KEPT
                weight[d] = part * (PRIOR + before[g, d]) / (PRIOR + due[g, d])
                total += weight[d]
            expected = max(rate * total, 1e-9)
            events = expected / -np.expm1(-expected)
            for day in range(first, last + 1):
                if due[g, day % KEPT] > 0.0:  # else the group was none yet, and nothing promised
                    shown[g, day % KEPT] += events * weight[day % KEPT] / max(total, 1e-12)


@njit(cache=True)
def _add_up(shown, due, past, today):  # type: ignore[no-untyped-def]
    """The multipliers added up from the oldest day on; place i is before day oldest + i."""
    oldest = today - KEPT + 1
    for g in range(len(shown)):
        total = 0.0
        for i in range(KEPT):
            past[g, i] = total
            d = (oldest + i) % KEPT
            total += (PRIOR + shown[g, d]) / (PRIOR + due[g, d])
        past[g, KEPT] = total


@njit(cache=True)
def _since(group, past, page, begin, now, today):  # type: ignore[no-untyped-def]
    oldest = today - KEPT + 1
    found = np.zeros((len(group), len(page)), np.float32)
    for i in range(len(page)):
        days = now[i] - begin[i]
        if not days > 1e-9:
            continue
        lost = max(min(float(oldest), now[i]) - begin[i], 0.0)
        for level in range(len(group)):
            g = group[level, page[i]]
            if g >= 0:
                total = lost + _until(past[g], now[i] - oldest) - _until(past[g], begin[i] - oldest)
                found[level, i] = np.log(max(total / days, 1e-6))
    return found


@njit(cache=True)
def _until(past, at):  # type: ignore[no-untyped-def]
    """The sum up to a time, counted in days from the oldest; a day counts by its part."""
    if at <= 0:
        return 0.0
    if at >= KEPT:
        return past[KEPT] + (at - KEPT)
    i = int(at)
    return past[i] + (past[i + 1] - past[i]) * (at - i)
