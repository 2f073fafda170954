"""What holds for every allocation: it spends the budget, nothing beats it, weight pays."""

from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl import allocate

quick = settings(max_examples=60, deadline=None)
rates = st.floats(-6, 3).map(lambda e: 10.0**e)
weights = st.floats(-6, 6).map(lambda e: 10.0**e)
web = st.lists(st.tuples(rates, weights), min_size=1, max_size=30).map(np.array)
budgets = st.floats(-9, 9).map(lambda e: 10.0**e)
scales = st.sampled_from([1e-12, 1.0, 1e12])

SOLVERS = {
    "freshness": allocate.freshness_rates,
    "age": allocate.age_rates,
    "memoryless": allocate.memoryless_rates,
    "harmonic": allocate.harmonic_rates,
}
every = pytest.mark.parametrize("name", SOLVERS)


def cost(name, visits, rate):
    """A page's cost in the objective; what no visits at all cost is the limit."""
    f = np.maximum(visits, 1e-300)
    x = np.minimum(rate / f, 1e300)
    small, large = np.minimum(x, 0.1), np.maximum(x, 0.1)  # the closed forms cancel in the small
    terms = [(-1) ** (k + 1) * small**k / factorial(k + 1) for k in range(1, 12)]
    stale = np.where(x < 0.1, sum(terms), 1 + np.expm1(-large) / large)
    if name == "freshness":
        return stale
    if name == "age":
        return np.where(x < 0.1, -sum(terms[1:]), large / 2 - stale) / rate
    return x / (1 + x) if name == "memoryless" else np.log1p(x)


@every
@quick
@given(web, budgets, scales)
def test_the_budget_is_spent(name, web, budget, scale):
    visits = SOLVERS[name](web[:, 0], budget, web[:, 1] * scale)
    assert (visits >= 0).all()
    assert visits.sum() == pytest.approx(budget, rel=1e-9)


@every
@quick
@given(web, st.floats(-3, 3), st.integers(0, 2**32 - 1))
def test_no_other_allocation_is_better(name, web, log_budget, seed):
    rate, weight = web.T.copy()
    budget = 10.0**log_budget * len(rate)
    visits = SOLVERS[name](rate, budget, weight)
    best = (weight * cost(name, visits, rate)).sum()
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 1.0):
        for _ in range(10):
            other = visits * np.exp(size * rng.normal(size=len(rate)))
            other[rng.integers(len(rate))] += size * budget * rng.random()
            other *= budget / other.sum()
            assert (weight * cost(name, other, rate)).sum() >= best * (1 - 1e-9)


@every
@quick
@given(web, st.floats(-3, 3), st.floats(1.01, 100.0), st.data())
def test_weight_pays(name, web, log_budget, factor, data):
    rate, weight = web.T.copy()
    budget = 10.0**log_budget * len(rate)
    page = data.draw(st.integers(0, len(rate) - 1))
    before = SOLVERS[name](rate, budget, weight)
    weight[page] *= factor
    after = SOLVERS[name](rate, budget, weight)
    assert after[page] >= before[page] * (1 - 1e-9)
    others = np.arange(len(rate)) != page
    assert (after[others] <= before[others] * (1 + 1e-6) + 1e-9 * budget).all()


@quick
@given(web, st.floats(-3, 3), st.integers(0, 2**32 - 1))
def test_mixed_spends_the_budget_or_visits_at_every_change(web, log_budget, seed):
    rate, weight = web.T.copy()
    budget = 10.0**log_budget * len(rate)
    told = np.random.default_rng(seed).random(len(rate)) < 0.5
    visits = allocate.mixed_rates(rate, budget, told, weight)
    most = rate.sum() if told.all() else np.inf
    assert visits.sum() == pytest.approx(min(budget, most), rel=1e-9)
    assert (visits[told] <= rate[told] * (1 + 1e-9)).all()
