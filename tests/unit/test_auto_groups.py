"""Days of groups beyond those kept, and neighbours: plain versions and answers by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support import add_undated

from recrawl.auto.group_days import GroupDays, day_of
from recrawl.auto.neighbourhood import Neighbourhood
from recrawl.auto.page_history import PageHistory
from recrawl.model import DAY, Neighbours

KEPT, PRIOR = 64, 0.3  # days; changes that a multiplier of 1 counts for


def test_a_visit_soon_after_midnight_belongs_to_the_day_before():
    """A hundredth of a day: 864 seconds."""
    at = 5 * DAY + np.array([0.0, 863.0, 865.0, DAY - 1])
    assert day_of(at).tolist() == [4, 4, 5, 5]


class PlainDays:
    """What `GroupDays` does for one group, with dictionaries by day."""

    def __init__(self):
        self.today, self.due, self.settled, self.shown = 0, {}, {}, {}
        self.old, self.new = [], []

    def parts(self, begin, end):
        """(days before the oldest, share of each kept day) of an interval."""
        oldest = self.today - KEPT + 1
        days = range(max(int(np.floor(begin)), oldest), min(int(np.floor(end)), self.today) + 1)
        lost = max(min(oldest, end) - begin, 0.0)
        return lost, {day: max(min(end, day + 1) - max(begin, day), 0.0) for day in days}

    def multiplier(self, day):
        return (PRIOR + self.shown.get(day, 0.0)) / (PRIOR + self.due.get(day, 0.0))

    def divided(self, hits):
        found = {}
        for begin, end, rate in hits:
            lost, parts = self.parts(begin, end)
            weight = {day: part * self.multiplier(day) for day, part in parts.items()}
            total = lost + sum(weight.values())
            events = rate * total / (1 - np.exp(-rate * total))
            for day, part in weight.items():
                if self.due.get(day, 0.0) > 0:
                    found[day] = found.get(day, 0.0) + events * part / total
        return found

    def start_day(self, day):
        self.old = [hit for hit in [*self.old, *self.new] if hit[1] > day - KEPT]
        self.new, self.today = [], day
        for column in (self.due, self.shown):
            for gone in [d for d in column if d <= day - KEPT]:
                del column[gone]
        self.settled = self.divided(self.old)
        self.shown = dict(self.settled)

    def add(self, visits):
        for begin, end, rate, hit in visits:
            for day, part in self.parts(begin, end)[1].items():
                self.due[day] = self.due.get(day, 0.0) + rate * part
            self.new += [(begin, end, rate)] if hit else []
        new = self.divided(self.new)
        self.shown = {d: self.settled.get(d, 0.0) + new.get(d, 0.0) for d in {*self.settled, *new}}

    def log_multiplier(self, begin, now):
        lost, parts = self.parts(begin, now)
        later = max(now - (self.today + 1), 0.0)
        total = lost + later + sum(part * self.multiplier(day) for day, part in parts.items())
        return np.log(total / (now - begin))


@pytest.mark.slow
def test_days_beyond_those_kept_are_those_of_a_plain_version():
    random = np.random.default_rng(2)
    fast, plain = GroupDays(np.zeros((1, 9), np.int32), np.zeros(1, np.uint64)), PlainDays()
    for day in [*range(1, 60), 64, 65, 66, 67, 90, 91, 140, 141]:
        assert fast.start_day(day)
        assert not fast.start_day(day)
        plain.start_day(day)
        end = day + random.random(6)
        begin, rate = end - random.exponential(15, 6), random.gamma(1, 0.1, 6)
        hit = random.random(6) < 0.4
        add_undated(fast, random.integers(0, 9, 6), begin, end, rate, hit * 1.0)
        plain.add(zip(begin, end, rate, hit, strict=True))
        asked = day + 0.9 - random.uniform(0.1, 90, 6)
        now = np.array([day + 0.9] * 4 + [day + 1.5] * 2)
        found = fast.log_multiplier(np.zeros(6, np.int64), asked, now)[0]
        expected = [plain.log_multiplier(*one) for one in zip(asked, now, strict=True)]
        np.testing.assert_allclose(found, expected, atol=2e-4)


def test_totals_of_groups_are_sums_over_their_pages():
    group = np.array([[0, 0, 0], [1, -1, 1]], np.int32)
    days = GroupDays(group, np.zeros(2, np.uint64))
    days.add_totals(np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 40.0]))
    assert days.totals.tolist() == [[7.0, 5.0], [70.0, 50.0]]
    add_undated(days, np.array([1]), *one_visit())
    assert days.totals.tolist() == [[9.0, 5.0], [73.0, 50.0]]


def one_visit():
    """A visit from day 0 to 3 at a rate of 0.5, with 2 events behind its hit."""
    return (np.array([value]) for value in (0.0, 3.0, 0.5, 2.0))


def test_nearer_pages_become_neighbours_both_ways():
    """Room for two. Page 3 comes; it is nearer to 0 than 2 is, and not nearer to 1 than both."""
    near = Neighbourhood(
        np.array([[1, 2], [0, 2], [0, -1], [-1, -1]], np.int32),
        np.array([[0.9, 0.3], [0.9, 0.8], [0.3, 0.0], [0.0, 0.0]], np.float32),
    )
    near.replace(np.array([3]), Neighbours(np.array([[0, 1]]), np.array([[0.5, 0.4]])))
    assert near.row.tolist() == [[1, 3], [0, 2], [0, -1], [0, 1]]
    assert near.weight[0] == pytest.approx([0.9, 0.5])
    near.replace(np.array([3]), Neighbours(np.array([[2, 1]]), np.array([[0.2, 0.0]])))
    assert near.row.tolist() == [[1, 3], [0, 2], [0, 3], [2, 1]], "there was room at 2"
    again = near.row.copy()
    near.replace(np.array([3]), Neighbours(np.array([[2, -1]]), np.array([[0.9, 0.0]])))
    assert near.row[:3].tolist() == again[:3].tolist(), "no neighbour twice"


def test_neighbours_are_taken_over_to_new_rows():
    old = Neighbourhood(
        np.array([[1, -1], [0, -1]], np.int32), np.array([[0.5, 0.0], [0.5, 0.0]], np.float32)
    )
    new = Neighbourhood.empty(4, 2)
    new.take_over(old, np.array([3, 1]))
    assert new.row.tolist() == [[-1, -1], [3, -1], [-1, -1], [1, -1]]
    assert new.weight[:, 0].tolist() == [0.0, 0.5, 0.0, 0.5]


def test_rates_of_neighbours_by_hand():
    """(½ + 0.8 · 3 + 0.5 · 1) / (½ / 0.1 + 0.8 · 10 + 0.5 · 20) over the page's own 0.2."""
    near = Neighbourhood(
        np.array([[1, 2], [-1, -1], [0, -1]], np.int32),
        np.array([[0.8, 0.5], [0.0, 0.0], [1.0, 0.0]], np.float32),
    )
    history = PageHistory.empty(np.zeros(3))
    history.events, history.days = np.array([0.0, 3.0, 1.0]), np.array([5.0, 10.0, 20.0])
    rate, prior = np.array([0.2, 0.3, 0.4]), np.array([0.1, 0.1, 0.25])
    found = near.rates(history, rate, prior, np.array([0, 1, 2]))
    known = [np.log(3.4 / 23 / 0.2), 0.0, np.log(0.5 / (0.5 / 0.25 + 5) / 0.4)]
    assert found == pytest.approx(known, abs=1e-6)
