"""K11, and what it must equal when ties are broken over and over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.lab.rankings import area, calibration, ceiling, precision_at, spearman

TIED = np.array([3.0, 1, *[0] * 8]), np.array([2.0, 0, 5, *[0] * 7])


def test_without_ties():
    truth, forecast = np.array([5.0, 4, 3, 2, 1]), np.array([3.0, 5, 4, 1, 2])
    np.testing.assert_allclose(precision_at(truth, forecast), [0, 0.5, 1, 0.75, 1])
    assert area(truth, forecast) == pytest.approx(0.65)
    assert area(truth, -truth) == pytest.approx(0.416667, abs=5e-7)
    assert ceiling(truth) == 1.0


def test_with_ties():
    expected = [0, 0.5, 0.453125, 0.484375, 0.546875, 0.625, 0.712054, 0.804688, 0.901042, 1]
    np.testing.assert_allclose(precision_at(*TIED), expected, atol=5e-7)
    assert area(*TIED) == pytest.approx(0.602716, abs=5e-7)
    assert spearman(*TIED) == pytest.approx(0.364198, abs=5e-7)


@pytest.mark.parametrize(("zeros", "expected"), [(0.72, 0.855), (0.924, 0.674)])
def test_ceiling_of_mostly_zeros(zeros, expected):
    n = 2000
    truth = np.where(np.arange(n) < zeros * n, 0.0, np.arange(n))
    assert ceiling(truth) == pytest.approx(expected, abs=2e-3)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=7))
def test_is_the_mean_over_many_ways_to_break_ties(rows):
    truth, forecast = np.array(rows, float).T
    rng, n = np.random.default_rng(0), len(rows)
    total = np.zeros(n)
    for _ in range(3000):
        a = np.lexsort((rng.random(n), -truth))
        b = np.lexsort((rng.random(n), -forecast))
        total += [len(np.intersect1d(a[:k], b[:k])) / k for k in range(1, n + 1)]
    np.testing.assert_allclose(precision_at(truth, forecast), total / 3000, atol=0.05)


def test_calibration():
    said = np.array([0.05, 0.05, 0.95, 0.95, 1.0])
    found = calibration(said, np.array([False, False, True, False, True]))
    assert found.brier == pytest.approx((2 * 0.05**2 + 0.05**2 + 0.95**2) / 5)
    np.testing.assert_allclose(found.predicted, [0.05, 2.9 / 3])
    np.testing.assert_allclose(found.observed, [0.0, 2 / 3])
    assert spearman(np.ones(3), np.arange(3.0)) == 0.0
