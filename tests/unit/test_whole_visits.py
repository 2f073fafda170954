"""Whole numbers of visits and their cycles, by hand and against all choices."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from recrawl.allocate.whole import spread, staleness, whole_visits


def stale(rate, visits):
    """1 − (1 − e^−x)/x, x changes between two visits; all of the time without a visit."""
    if rate == 0:
        return 0.0
    return 1 - (1 - np.exp(-rate / visits)) / (rate / visits) if visits else 1.0


def test_staleness_by_hand():
    rate, visits = np.array([2.0, 2.0, 2.0, 0.0, 0.0]), np.array([1.0, 4.0, 0.0, 1.0, 0.0])
    half = 1 - (1 - np.exp(-0.5)) / 0.5
    known = [(1 + np.exp(-2)) / 2, half, 1.0, 0.0, 0.0]
    assert staleness(rate, visits) == pytest.approx(known)
    assert staleness(np.array([3.0]), np.array([0.5])) == pytest.approx([stale(3, 0.5)])
    assert staleness(np.array([1e-9]), np.array([1.0])) == pytest.approx([0.5e-9], rel=1e-6)
    assert staleness(np.array([1e9]), np.array([1e-300])) == pytest.approx([1.0])


@pytest.mark.parametrize("visits", [0, 1, 3, 5, 9])
@pytest.mark.parametrize("weight", [[1, 1, 1], [5, 1, 0.2]])
def test_no_other_whole_numbers_are_better(visits, weight):
    rate, most = np.array([0.3, 2.0, 9.0]), 3
    found = whole_visits(rate, np.array(weight), visits, most, np.arange(3))

    def cost(chosen):
        return sum(w * stale(r, n) for w, r, n in zip(weight, rate, chosen, strict=True))

    every = product(range(most + 1), repeat=3)
    best = min(cost(chosen) for chosen in every if sum(chosen) <= visits)
    assert cost(found) == pytest.approx(best, abs=1e-12)
    assert found.sum() == min(visits, 9)
    assert found.max(initial=0) <= most


def test_of_pages_alike_the_lower_key_is_visited_first():
    alike, key = np.ones(3), np.array([5, 1, 3])
    assert whole_visits(alike, alike, 1, 2, key).tolist() == [0, 1, 0]
    assert whole_visits(alike, alike, 2, 2, key).tolist() == [0, 1, 1]
    assert whole_visits(alike, alike, 4, 2, key).tolist() == [1, 2, 1]


def test_pages_alike_take_turns():
    """Due at ¼ and 5/4, ¾ and 7/4 of two cycles each; the lower key first."""
    assert spread(np.array([2, 2]), 4, np.array([0, 1])).tolist() == [0, 2, 1, 3]
    assert spread(np.array([2, 2]), 4, np.array([1, 0])).tolist() == [1, 3, 0, 2]


def test_cycles_are_equally_full():
    """One page due at 1, one at 1/3, 1 and 5/3 of two cycles; of equals the lower key is first."""
    assert spread(np.array([1, 3]), 2, np.array([0, 1])).tolist() == [0, 0, 1, 1]
    assert spread(np.array([1, 3]), 2, np.array([1, 0])).tolist() == [1, 0, 0, 1]
    assert spread(np.array([0, 0]), 5, np.array([0, 1])).tolist() == []
    random = np.random.default_rng(0)
    visits = random.integers(0, 5, 40)
    cycle = spread(visits, 7, np.arange(40))
    full = np.bincount(cycle, minlength=7)
    assert full.max() - full.min() <= 1
    begin = np.cumsum(visits) - visits
    for page in range(40):
        mine = cycle[begin[page] : begin[page] + visits[page]]
        assert (np.diff(mine) > 0).all(), "no page twice in a cycle"
