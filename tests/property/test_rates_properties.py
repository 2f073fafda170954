"""What holds for every history, and the indices against numerical integration of B.0's U(T)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import exp1

from recrawl import registry
from recrawl.checks import build_pages
from recrawl.model import DAY, Intervals
from recrawl.policies.indices import INDICES
from recrawl.rates.mle import most_likely

quick = settings(max_examples=60, deadline=None)
interval = st.tuples(st.floats(1e-4, 1e3), st.booleans())
histories = st.lists(interval, min_size=1, max_size=30)
positive = st.floats(1e-3, 1e2)


def page(days, changed):
    at = np.cumsum(days) * DAY
    past = Intervals(np.array([0, len(days)]), days, changed, at, *np.full((4, len(days)), np.nan))
    return build_pages(past, np.zeros(1))


def columns(history):
    days, changed = zip(*history, strict=True)
    return np.array(days), np.array(changed)


@quick
@given(histories, st.sampled_from([0.0, 0.01, 0.5, 3.0]))
def test_mle_solves_its_equation(history, prior):
    days, changed = columns(history)
    if prior == 0.0 and changed.all() | ~changed.any():
        return
    (rate,) = most_likely(np.array([0, len(days)]), days, changed, prior)
    imaginary = [prior] if prior else []
    tau = np.concatenate([days[changed], imaginary])
    with np.errstate(over="ignore"):
        side = (tau / np.expm1(rate * tau)).sum()
    assert side == pytest.approx(days[~changed].sum() + sum(imaginary), rel=1e-8)


@quick
@given(histories, st.sampled_from(sorted(registry.parts("rate"))))
def test_rates_are_finite_and_above_0(history, name):
    (rate,) = registry.make("rate", name).rate(page(*columns(history)))
    assert 0 < rate < np.inf


@quick
@given(
    histories,
    st.integers(0, 29),
    st.sampled_from(["smoothed", "cho", "mle", "gamma", "lln", "nad-text", "aad-text", "gad-text"]),
)
def test_one_more_change_never_lowers_a_rate(history, at, name):
    days, changed = columns(history)
    more = changed.copy()
    more[at % len(days)] = True
    estimator = registry.make("rate", name)
    fewer, rate = estimator.rate(page(days, changed)), estimator.rate(page(days, more))
    assert rate >= fewer * (1 - 1e-9)


@quick
@given(st.sampled_from(sorted(INDICES)), positive, positive, st.floats(1.001, 10.0))
def test_indices_increase_with_time(name, rate, days, factor):
    sooner, later = (INDICES[name](np.array([rate]), np.array([t])) for t in (days, days * factor))
    assert later >= sooner
    if rate * days < 30:
        assert later > sooner


def freshness(rate, t):
    return -np.expm1(-rate * t)


def age(rate, t):
    return t + np.expm1(-rate * t) / rate


def harmonic(rate, t):
    return np.euler_gamma + np.log(rate * t) + exp1(rate * t) if t > 0 else 0.0


@quick
@given(st.sampled_from([freshness, age, harmonic]), st.floats(0.01, 10.0), st.floats(0.05, 20.0))
def test_indices_are_the_integral(cost, rate, days):
    area, _ = quad(lambda t: cost(rate, t), 0.0, days, epsabs=1e-13, epsrel=1e-12, limit=200)
    known = days * cost(rate, days) - area
    (found,) = INDICES[cost.__name__](np.array([rate]), np.array([days]))
    assert found == pytest.approx(known, rel=1e-6, abs=1e-9 * max(days, days**2))


@quick
@given(st.sampled_from(["freshness", "age", "harmonic"]))
def test_series_and_closed_form_meet(name):
    below, above = (INDICES[name](np.array([x]), np.ones(1)) for x in (0.1 - 1e-12, 0.1))
    assert below == pytest.approx(above, rel=1e-10)
