"""Known answers of the rate estimators (K1, K14)."""

from dataclasses import replace

import numpy as np
import pytest

from recrawl import registry
from recrawl.checks import build_pages, sample_pages
from recrawl.errors import BadInput
from recrawl.history.intervals import outcomes, past
from recrawl.model import DAY, Intervals
from recrawl.rates.bounds import MAX_RATE, MIN_RATE
from recrawl.rates.cho import cho
from recrawl.rates.forecast import from_rate
from recrawl.rates.gamma import Gamma
from recrawl.rates.smoothed import quantiles as smoothed_quantiles
from recrawl.rates.weighted import READINGS, Cycles


def one_page(days, changed, modified=None):
    """A page first visited at 0, with these intervals."""
    days, changed = np.array(days, dtype=float), np.array(changed, dtype=bool)
    modified = np.full(len(days), np.nan) if modified is None else np.array(modified) * DAY
    start = np.array([0, len(days)])
    unknown = np.full((3, len(days)), np.nan)
    past = Intervals(start, days, changed, np.cumsum(days) * DAY, modified, *unknown)
    return build_pages(past, np.zeros(1))


def two_pages(first, second):
    """Pages first visited at 0, each with (days, changed)."""
    days, changed = (np.concatenate(column) for column in zip(first, second, strict=True))
    start = np.array([0, len(first[0]), len(days)])
    at = np.concatenate([np.cumsum(first[0]), np.cumsum(second[0])]) * DAY
    past = Intervals(start, days, changed.astype(bool), at, *np.full((4, len(days)), np.nan))
    return build_pages(past, np.zeros(2))


def rate(name, pages, **arguments):
    return registry.make("rate", name, **arguments).rate(pages)


@pytest.mark.parametrize(
    ("n", "x", "known"),
    [
        (2, 1, 0.510826),
        (2, 2, 1.609438),
        (10, 3, 0.336472),
        (10, 10, 3.044522),
        (57, 57, 4.744932),
        (57, 0, 0),
    ],
)
def test_cho_per_interval(n, x, known):
    assert cho(np.array(n), np.array(x)) == pytest.approx(known, abs=5e-7)


@pytest.mark.parametrize(("interval", "known"), [(1.0, 1.00308), (2.0, 0.96962)])
def test_cho_bias(interval, known):
    from scipy.stats import binom

    x = np.arange(11)
    expected = binom.pmf(x, 10, -np.expm1(-interval)) @ cho(np.full(11, 10), x)
    assert expected / interval == pytest.approx(known, abs=5e-6)


def test_cho_divides_by_the_mean_interval():
    pages = one_page([2.0] * 10, [1, 1, 1] + [0] * 7)
    assert rate("cho", pages) == pytest.approx(0.336472 / 2, abs=5e-7)


@pytest.mark.parametrize(("prior", "known"), [(0.0, 0.313977), (0.5, 0.424566)])
def test_mle_of_irregular_visits(prior, known):
    pages = one_page([1, 1, 2, 1, 3], [1, 0, 1, 0, 0])
    assert rate("mle", pages, prior=prior) == pytest.approx(known, abs=5e-7)


def test_mle_of_regular_visits():
    pages = one_page([1.0] * 10, [1, 1, 1] + [0] * 7)
    assert rate("mle", pages, prior=0.0) == pytest.approx(0.356675, abs=5e-7)


@pytest.mark.parametrize(("changed", "known"), [(True, MAX_RATE), (False, MIN_RATE)])
def test_mle_without_prior_has_ends(changed, known):
    assert rate("mle", one_page([1.0, 2.0], [changed] * 2), prior=0.0) == known


def test_mle_refuses_a_negative_prior():
    with pytest.raises(BadInput, match="0 or more"):
        rate("mle", one_page([1.0], [True]), prior=-1.0)


@pytest.mark.parametrize(
    ("name", "weight", "chance"),
    [
        ("nad-text", 0.5, 0.864665),
        ("sad-text", 0.0, 0.0),
        ("aad-text", 0.476190, 0.851142),
        ("gad-text", 0.396825, 0.795523),
        # Visited in every cycle, so the code says the same.
        ("nad-code", 0.5, 0.864665),
        ("sad-code", 0.0, 0.0),
        ("aad-code", 0.476190, 0.851142),
        ("gad-code", 0.396825, 0.795523),
    ],
)
def test_weights(name, weight, chance):
    pages = one_page([1.0] * 6, [1, 0, 0, 1, 1, 0])
    found = READINGS[name](pages, Cycles.at(7 * DAY, pages, 1.0))
    assert found == pytest.approx(weight, abs=5e-7)
    assert from_rate(found, np.array([4.0])).p_change == pytest.approx(chance, abs=5e-7)
    assert rate(name, pages) == pytest.approx(max(weight, MIN_RATE), abs=5e-7)


def test_code_weights_cycles_not_visits():
    pages = one_page([2.0, 3.0], [0, 1])  # changes seen in cycle 5 only; now is cycle 8
    cycles = Cycles.at(8 * DAY, pages, 1.0)
    known = {"nad-code": 1 / 7, "sad-code": 0, "aad-code": 5 / 28, "gad-code": 16 / 127}
    for name, weight in known.items():
        assert READINGS[name](pages, cycles) == pytest.approx(weight)
    assert READINGS["sad-code"](pages, Cycles.at(6 * DAY, pages, 1.0)) == 1


def test_cycles_may_be_long():
    pages = one_page([2.0] * 6, [1, 0, 0, 1, 1, 0])
    assert rate("aad-code", pages, cycle_days=2.0) == pytest.approx(0.476190 / 2, abs=5e-7)


def test_weights_of_long_histories():
    changed = np.arange(100) % 3 == 0
    pages = one_page([1.0] * 100, changed)
    place = np.arange(1, 101)
    assert rate("aad-text", pages) == pytest.approx((place * changed).sum() / place.sum())
    known = sum(2.0 ** int(i) for i in np.flatnonzero(changed)) / (2.0**100 - 1)
    assert rate("gad-text", pages) == pytest.approx(known, rel=1e-15)
    assert rate("gad-code", pages) == pytest.approx(known, rel=1e-15)


def test_one_visit_that_showed_a_change_is_all_the_weight():
    pages = one_page([1.0], [1])
    for name in ("nad-text", "sad-text", "aad-text", "gad-text"):
        assert rate(name, pages) == 1.0, name


def test_weights_of_two_pages_do_not_mix():
    """Oldest first: 0 1 1 and 1 0. AAD: (2 + 3) / 6, 1 / 3; GAD: (2 + 4) / 7, 1 / 3."""
    pages = two_pages(([1.0] * 3, [0, 1, 1]), ([1.0] * 2, [1, 0]))
    assert rate("aad-text", pages) == pytest.approx([5 / 6, 1 / 3])
    assert rate("gad-text", pages) == pytest.approx([6 / 7, 1 / 3])
    assert rate("nad-text", pages) == pytest.approx([2 / 3, 1 / 2])


def test_rates_of_visits_less_than_a_day_apart():
    # 1 change of 2, half a day apart: mle ½/(e^{λ/2} − 1) = ½; cho ln(2.5 / 1.5) per ½ day;
    # lln 2 visits a day · 1 / (2 + 1 − 1)
    pages = one_page([0.5, 0.5], [1, 0])
    assert rate("mle", pages, prior=0.0) == pytest.approx(2 * np.log(2))
    assert rate("cho", pages) == pytest.approx(2 * np.log(2.5 / 1.5))
    assert rate("lln", pages) == pytest.approx(1.0)


def test_mle_of_two_pages_does_not_mix():
    """1/(e^λ − 1) = 2 and 2/(e^{2λ} − 1) = 6."""
    pages = two_pages(([1.0, 2.0], [1, 0]), ([2.0, 6.0], [1, 0]))
    assert rate("mle", pages, prior=0.0) == pytest.approx([np.log(1.5), np.log(4 / 3) / 2])


def test_a_page_never_seen_to_change_has_the_smoothed_rate():
    pages = one_page([2.0] * 4, [0] * 4)
    for name in ("cho", "lln", "sa"):
        assert rate(name, pages) == pytest.approx(0.5 / 8.5), name


def test_lln_by_hand():
    """Visits a day 4/8; 1 change: ½ · 1 / (4 + α − 1)."""
    pages = one_page([2.0] * 4, [0, 1, 0, 0])
    assert rate("lln", pages) == pytest.approx(1 / 8)
    assert rate("lln", pages, alpha=2.0) == pytest.approx(1 / 10)


def test_sa_by_hand():
    # First page: p = 2/4, begins at 1.5/4.5; the first step of weight 1 goes to 1/3 + 1/2, the
    # second of weight 2^−η towards 0. Second: p = 1, the first step goes to 0, the second to 2^−η.
    pages = two_pages(([2.0, 2.0], [1, 0]), ([1.0, 1.0], [0, 1]))
    assert rate("sa", pages, eta=1.0) == pytest.approx([5 / 12, 1 / 2])
    assert rate("sa", pages) == pytest.approx([5 / 6 * (1 - 2**-0.75), 2**-0.75])


@pytest.mark.parametrize(("name", "known"), [("lln", 0.7), ("sa", 0.7)])
def test_online_estimators_converge(name, known):
    rng = np.random.default_rng(5)
    days = rng.exponential(1 / 1.5, 200_000)
    pages = one_page(days, rng.random(200_000) < -np.expm1(-known * days))
    assert rate(name, pages) == pytest.approx(known, rel=0.02)


def test_last_modified_is_consistent_where_visits_are_rare():
    rng = np.random.default_rng(6)
    age = rng.exponential(1 / 0.4, 50_000)  # time since the last change, seen every 5 days
    visits = 5.0 * np.arange(1, 50_001)
    modified = np.where(age <= 5.0, visits - age, np.nan)
    pages = one_page([5.0] * 50_000, age <= 5.0, modified)
    assert rate("last-modified", pages) == pytest.approx(0.4, rel=0.02)


@pytest.mark.parametrize("modified", [np.nan, -1.0, 9.0])
def test_last_modified_takes_half_the_interval_for_missing_or_impossible_headers(modified):
    assert rate("last-modified", one_page([4.0], [1], [modified])) == pytest.approx(1.5 / 2.5)


@pytest.mark.parametrize(("modified", "quiet"), [(4.0, 0.0), (3.0, 1.0), (0.0, 4.0)])
def test_last_modified_counts_what_follows_it_up_to_both_ends(modified, quiet):
    assert rate("last-modified", one_page([4.0], [1], [modified])) == pytest.approx(
        1.5 / (quiet + 0.5)
    )


def test_gamma_by_hand():
    # Two hosts of a page each: 1 change in 2 days, 0 in 4. All pages: 1.5/6.5 = 3/13.
    # Hosts: 1.5 / (2 + ½·13/3) = 9/25, ½ / (4 + 13/6) = 3/37.
    # Pages: 1.5 / (2 + ½·25/9) = 27/61, ½ / (4 + ½·37/3) = 3/61.
    pages = two_pages(([1.0, 1.0], [1, 0]), ([4.0], [0]))
    assert Gamma().rate(pages) == pytest.approx([27 / 61, 3 / 61])


def test_gamma_quantiles_are_the_5th_and_95th_of_100():
    """Gamma(1.5, 1.5) is a third of chi-squared of 3 degrees: 0.351846 and 7.814728 in tables."""
    pages = one_page([1.0], [1])
    known = [0.351846 / 3, 7.814728 / 3]
    assert Gamma().quantiles(pages)[0] == pytest.approx(known, abs=1e-6)
    assert smoothed_quantiles(pages, (0.05, 0.95))[0] == pytest.approx(known, abs=1e-6)


def test_gamma_is_pulled_to_the_host():
    pages = sample_pages()
    one = replace(pages, n_changes=np.where(pages.host == 1, pages.n_changes + 9, 0))
    unseen = one.take(np.flatnonzero(one.n_visits == 0))
    everyone = Gamma().rate(one)[one.n_visits == 0]
    assert everyone[unseen.host == 1].min() > everyone[unseen.host != 1].max()


def test_gamma_quantiles_enclose_the_rate():
    pages = sample_pages()
    found = Gamma().quantiles(pages, (0.01, 0.5, 0.99))
    assert found.shape == (len(pages), 3)
    assert (np.diff(found, axis=1) > 0).all()
    assert (found[:, 0] < Gamma().rate(pages)).all()
    assert (found[:, 2] > Gamma().rate(pages)).all()


def test_gamma_without_pooling_is_smoothed():
    pages = one_page([1.0], [True])
    assert Gamma().rate(pages) == pytest.approx(rate("smoothed", pages))


def test_past_and_outcomes_agree_and_know_no_future():
    pages = sample_pages(future=1)
    start, changed = outcomes(pages)
    known = past(pages)
    assert np.array_equal(known.start, start)
    assert np.array_equal(known.changed, changed)
    assert len(pages.intervals().days) > len(known.days)


def test_no_change_is_forecast_for_a_tiny_rate_without_rounding_to_0():
    assert from_rate(np.array([1e-9]), np.array([1e-9])).p_change == pytest.approx(1e-18)
