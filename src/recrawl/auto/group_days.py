"""On which days did a group of pages change more than usual?

Keeps two sums for each group and day: the changes that visits showed, and the changes expected from
the rates of the visited pages. Their ratio, shrunk towards 1, is the multiplier of the day. A visit
covers all days since the visit before; the change it showed is divided among them in proportion to
what other visits showed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import DAY, rows_of
from recrawl.page.kernels import kernel, kernel_helper

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray, KeyArray, Time

DAYS_KEPT = 64  #: before them a multiplier is 1
PRIOR_CHANGES = 0.3  #: that a multiplier of 1 counts for
LATE_DAYS = 0.01  #: a visit up to this long after midnight belongs to the day before


def day_of(at: Time | FloatArray) -> IntArray:
    """The number of the day that a visit at a time (seconds) belongs to."""
    return np.floor(at / DAY - LATE_DAYS).astype(np.int64)


class GroupDays:
    """The multipliers of groups, and the totals over all their visits.

    `group` has one row per level and one column per page, -1 for none; `name` is the name of each
    group, as a hash. Times are days. Day d is in column d % DAYS_KEPT.
    """

    def __init__(self, group: IntArray, name: KeyArray, today: int = 0) -> None:
        self.group = group
        self.name = name
        self.today = today
        self.n_visits = np.zeros(DAYS_KEPT)  #: to all pages, by day
        self.totals = np.zeros((2, len(name)))  #: events and days of all visits
        self.settled = np.zeros((len(name), DAYS_KEPT), np.float32)  #: changes, without today's
        self.shown = self.settled.copy()  #: changes, with those of today's visits
        self.due = self.settled.copy()  #: changes expected from the rates
        #: Sum of the multipliers of the days before each day, oldest first.
        self.cumulative = np.zeros((len(name), DAYS_KEPT + 1), np.float32)
        self.old_hits = np.zeros((4, 0))  #: page, begin, end, rate of visits that showed a change
        self.new_hits = np.zeros((4, 0))  #: the same of today's visits
        _add_up(self.shown, self.due, self.cumulative, today)

    def regrouped(self, group: IntArray, name: KeyArray, new_row: IntArray) -> GroupDays:
        """The same for other groups; groups of the same name keep their days.

        `new_row` is the new row of each page. The totals are 0; see `add_totals`.
        """
        other = GroupDays(group, name, self.today)
        other.n_visits = self.n_visits
        at = rows_of(self.name, name)
        same = np.flatnonzero(at >= 0)
        for array in ("settled", "shown", "due", "cumulative"):
            getattr(other, array)[at[same]] = getattr(self, array)[same]
        for array in ("old_hits", "new_hits"):
            hits = getattr(self, array).copy()
            hits[0] = new_row[hits[0].astype(np.int64)]
            setattr(other, array, hits)
        return other

    def add_totals(self, events: FloatArray, days: FloatArray) -> None:
        """Add the events and days of each page to those of its groups."""
        for level in self.group:
            member = level >= 0
            for row, of_page in enumerate((events, days)):
                self.totals[row] += np.bincount(
                    level[member], of_page[member], minlength=len(self.name)
                )

    def start_day(self, day: int) -> bool:
        """Settle the visits so far and drop the oldest days; False if the day is not a new one."""
        if day <= self.today:
            return False
        hits = np.concatenate([self.old_hits, self.new_hits], axis=1)
        self.old_hits, self.new_hits = hits[:, hits[2] > day - DAYS_KEPT], np.zeros((4, 0))
        dropped = np.arange(self.today + 1, min(day, self.today + DAYS_KEPT) + 1) % DAYS_KEPT
        self.shown[:, dropped] = self.due[:, dropped] = self.n_visits[dropped] = 0.0
        self.today = day
        self.settled = np.zeros_like(self.settled)
        self._divide(self.old_hits, self.settled)
        self.shown = self.settled.copy()
        _add_up(self.shown, self.due, self.cumulative, day)
        return True

    def add_visits(
        self,
        page: IntArray,
        interval: tuple[FloatArray, FloatArray],
        between: tuple[FloatArray, FloatArray],
        rate: FloatArray,
        events: FloatArray,
        days: FloatArray,
    ) -> None:
        """Add visits of today: the interval that each closes, events behind a hit, days observed.

        A hit happened `between` two days of the interval.
        """
        self.n_visits[self.today % DAYS_KEPT] += len(page)
        visits = (page, *interval, rate, events, days)
        _add_due(self.group, self.due, self.totals, visits, self.today)
        hits = np.stack([page, *between, rate])[:, events > 0]
        self.new_hits = np.concatenate([self.new_hits, hits], axis=1)
        shown = self.settled.copy()
        self._divide(self.new_hits, shown)
        self.shown = shown
        _add_up(self.shown, self.due, self.cumulative, self.today)

    def visits_a_day(self) -> float:
        """Visits on a usual day; a few days on which all pages were visited do not count."""
        last = (self.today - np.arange(DAYS_KEPT)) % DAYS_KEPT
        visited = np.flatnonzero(self.n_visits[last])  # days ago
        if not len(visited):
            return 0.0
        usual = float(np.median(self.n_visits[last][visited]))
        return usual * len(visited) / int(visited[-1] - visited[0] + 1)

    def _divide(self, hits: FloatArray, shown: NDArray[np.float32]) -> None:
        """Divide the changes behind hits among their days, and add them to `shown`."""
        weight = np.empty(DAYS_KEPT)
        hits = np.ascontiguousarray(hits)  # or it is compiled once more
        _divide(self.group, self.shown, self.due, shown, hits, self.today, weight)

    def log_multiplier(
        self, page: IntArray, begin: FloatArray, now: FloatArray
    ) -> NDArray[np.float32]:
        """Log of the mean multiplier from a time until now: rows are levels, columns pages."""
        logs = np.zeros((len(self.group), len(page)), np.float32)
        _log_multiplier(self.group, self.cumulative, page, begin, now, self.today, logs)
        return logs


@kernel
def _add_due(group, due, totals, visits, today):  # type: ignore[no-untyped-def]
    page, begin, end, rate, events, days = visits
    oldest = today - DAYS_KEPT + 1
    for i in range(len(page)):
        for level in range(len(group)):
            g = group[level, page[i]]
            if g < 0:
                continue
            totals[0, g] += events[i]
            totals[1, g] += days[i]
            first = max(int(np.floor(begin[i])), oldest)
            for day in range(first, min(int(np.floor(end[i])), today) + 1):
                part = min(end[i], day + 1.0) - max(begin[i], float(day))
                due[g, day % DAYS_KEPT] += rate[i] * max(part, 0.0)


@kernel
def _divide(group, before, due, shown, hits, today, weight):  # type: ignore[no-untyped-def]
    oldest = today - DAYS_KEPT + 1
    for i in range(hits.shape[1]):
        page, begin, end, rate = int(hits[0, i]), hits[1, i], hits[2, i], hits[3, i]
        first, last = max(int(np.floor(begin)), oldest), min(int(np.floor(end)), today)
        lost = max(min(float(oldest), end) - begin, 0.0)  # days no longer kept
        for level in range(len(group)):
            g = group[level, page]
            if g < 0:
                continue
            total = lost
            for day in range(first, last + 1):
                part = max(min(end, day + 1.0) - max(begin, float(day)), 0.0)
                d = day % DAYS_KEPT
                weight[d] = part * (PRIOR_CHANGES + before[g, d]) / (PRIOR_CHANGES + due[g, d])
                total += weight[d]
            expected = max(rate * total, 1e-9)
            events = expected / -np.expm1(-expected)
            for day in range(first, last + 1):
                if due[g, day % DAYS_KEPT] > 0.0:  # else the group did not exist yet
                    shown[g, day % DAYS_KEPT] += (
                        events * weight[day % DAYS_KEPT] / max(total, 1e-12)
                    )


@kernel
def _add_up(shown, due, cumulative, today):  # type: ignore[no-untyped-def]
    """Add up the multipliers from the oldest day on; column i is the sum before day oldest + i."""
    oldest = today - DAYS_KEPT + 1
    for g in range(len(shown)):
        total = 0.0
        for i in range(DAYS_KEPT):
            cumulative[g, i] = total
            d = (oldest + i) % DAYS_KEPT
            total += (PRIOR_CHANGES + shown[g, d]) / (PRIOR_CHANGES + due[g, d])
        cumulative[g, DAYS_KEPT] = total


@kernel
def _log_multiplier(group, cumulative, page, begin, now, today, logs):  # type: ignore[no-untyped-def]
    oldest = today - DAYS_KEPT + 1
    for i in range(len(page)):
        days = now[i] - begin[i]
        if not days > 1e-9:
            continue
        lost = max(min(float(oldest), now[i]) - begin[i], 0.0)
        for level in range(len(group)):
            g = group[level, page[i]]
            if g >= 0:
                total = (
                    lost
                    + _sum_until(cumulative, g, now[i] - oldest)
                    - _sum_until(cumulative, g, begin[i] - oldest)
                )
                logs[level, i] = np.log(max(total / days, 1e-6))


@kernel_helper
def _sum_until(cumulative, g, at):  # type: ignore[no-untyped-def]
    """The sum up to a time, in days after the oldest day; the last day counts in part."""
    if at <= 0:
        return 0.0
    if at >= DAYS_KEPT:
        return cumulative[g, DAYS_KEPT] + (at - DAYS_KEPT)
    i = int(at)
    return cumulative[g, i] + (cumulative[g, i + 1] - cumulative[g, i]) * (at - i)
