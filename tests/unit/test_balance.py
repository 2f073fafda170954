"""How far visits may follow the rates: known answers, and crawls of pages whose rates are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.auto.balance import MIN_EXPONENT, SLACK, exponent, freshness
from recrawl.auto.group_days import DAYS_KEPT, GroupDays

rates = st.lists(st.floats(1e-3, 3.0), min_size=2, max_size=30).map(np.array)


def test_freshness_by_hand():
    """Rates 1 and 4, one visit a day for each page: λT is 1 and 4, or 2.5 for both."""
    rate, ones, known = np.array([1.0, 4.0]), np.ones(2), np.full(2, 1e9)
    by_age = ((1 - np.exp(-1.0)) / 1.0 + (1 - np.exp(-4.0)) / 4.0) / 2.0
    assert freshness(rate, known, ones, 2.0, 0.0) == pytest.approx(by_age)
    assert freshness(rate, known, ones, 2.0, 1.0) == pytest.approx((1 - np.exp(-2.5)) / 2.5)
    # a = ½: visits 2/3 and 4/3 a day, so λT is 1.5 and 3
    half = ((1 - np.exp(-1.5)) / 1.5 + (1 - np.exp(-3.0)) / 3.0) / 2.0
    assert freshness(rate, known, ones, 2.0, 0.5) == pytest.approx(half)
    assert freshness(rate, known, np.array([3.0, 1.0]), 4.0, 0.0) == pytest.approx(
        (3 * (1 - np.exp(-1.0)) / 1.0 + (1 - np.exp(-4.0)) / 4.0) / 4.0
    )


def test_an_uncertain_rate_is_the_mean_over_what_it_may_be():
    """Without a hit the rate is a gamma variable of shape ½; the mean of (1 − e^−x)/x over it."""
    x = np.random.default_rng(1).gamma(0.5, 2.0 / 0.5, 400_000)
    expected = np.mean(-np.expm1(-x) / x)
    assert freshness(np.array([2.0]), np.zeros(1), np.ones(1), 1.0, 0.3) == pytest.approx(
        expected, abs=2e-3
    )


@given(rates, st.floats(0.01, 30.0))
def test_following_the_rates_alone_is_never_fresher_than_oldest_first(rate, visits):
    some = rate, np.full(len(rate), 1e9), np.ones(len(rate)), visits
    assert freshness(*some, 1.0) <= freshness(*some, 0.0) + 1e-6


@given(rates, st.floats(0.01, 30.0))
def test_what_is_chosen_loses_no_more_than_the_slack(rate, visits):
    hits, pages = np.full(len(rate), 32.0), np.ones(len(rate))
    a = exponent(rate, hits, visits)
    # Rates are put into bins for the choice: a little more may be lost.
    some = rate, hits, pages, visits
    assert a == MIN_EXPONENT or freshness(*some, a) >= freshness(*some, 0.0) - 2 * SLACK


def test_the_exponent_falls_with_the_load():
    rate = np.geomspace(0.001, 1.0, 200)
    hits = np.full(200, 32.0)
    chosen = [exponent(rate, hits, visits) for visits in (1.0, 30.0, 100.0, 1e4)]
    assert chosen == sorted(chosen)
    assert chosen[0] == MIN_EXPONENT < chosen[1] < chosen[2] < chosen[3] == 1.0


def test_without_visits_or_pages_nothing_limits_it():
    assert exponent(np.empty(0), np.empty(0), 5.0) == exponent(np.ones(3), np.ones(3), 0.0) == 1.0


def test_simulated_crawls_are_as_fresh_as_predicted():
    """Poisson pages, visited at intervals of c·λ^−a: the share of time in which a copy is right."""
    random = np.random.default_rng(0)
    rate, days, visits = np.array([0.02, 0.1, 0.5]), 20_000.0, 0.3
    for a in (0.0, 0.5, 1.0):
        every = (rate**a).sum() / (visits * rate**a)
        fresh = []
        for page_rate, interval in zip(rate, every, strict=True):
            wait = random.exponential(1.0 / page_rate, int(days / interval))
            fresh.append(np.minimum(wait, interval).mean() / interval)
        assert freshness(rate, np.full(3, 1e9), np.ones(3), visits, a) == pytest.approx(
            np.mean(fresh), abs=0.02
        )


def days_with(visits: dict[int, int], today: int) -> GroupDays:
    days = GroupDays(np.zeros((5, 1), np.int32), np.zeros(1, np.uint64), today)
    for day, count in visits.items():
        days.n_visits[day % DAYS_KEPT] = count
    return days


def test_visits_on_a_usual_day():
    assert days_with({}, 100).visits_a_day() == 0.0
    assert days_with({97: 900, 98: 20, 99: 22, 100: 21}, 100).visits_a_day() == 21.5
    weekly = days_with({100 - 7 * week: 70 for week in range(5)}, 101)
    assert weekly.visits_a_day() == pytest.approx(70 * 5 / 29)
