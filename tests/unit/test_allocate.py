"""Known optima (K2–K5, K16), host caps against a general solver, and refusals."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import gammainc

from recrawl import allocate
from recrawl.allocate import age, freshness
from recrawl.errors import BadInput

RATES = np.arange(1.0, 6.0)
FALLING = RATES[::-1].copy()
BUDGET = 5.0
SOLVERS = {
    "freshness": allocate.freshness_rates,
    "age": allocate.age_rates,
    "memoryless": allocate.memoryless_rates,
    "harmonic": allocate.harmonic_rates,
}
OBJECTIVES = {name: getattr(allocate, name.upper()) for name in SOLVERS}


def fresh(visits, rate):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(visits > 0, visits / rate * -np.expm1(-rate / visits), 0.0)


def old(visits, rate):
    k = visits / rate
    return (0.5 - k - k * k * np.expm1(-1 / k)) / visits


#: What each objective minimises, a page.
COSTS = {
    "freshness": lambda f, r: 1 - fresh(f, r),
    "age": old,
    "memoryless": lambda f, r: r / (f + r),
    "harmonic": lambda f, r: np.log1p(r / f),
}


def printed(values, digits=6):
    return [round(float(v), digits) for v in values]


def test_k2_freshness():
    found = allocate.freshness_rates(RATES, BUDGET)
    assert printed(found) == [1.149892, 1.358412, 1.353835, 1.137860, 0.0]
    assert printed([fresh(found, RATES).mean()]) == [0.373889]
    x = RATES[:4] / found[:4]
    assert printed((1 - (1 + x) * np.exp(-x)) / RATES[:4]) == [0.216432] * 4


def test_k3_age():
    found = allocate.age_rates(RATES, BUDGET)
    assert printed(found, 5) == [0.83487, 0.96793, 1.03352, 1.07061, 1.09307]
    assert printed([old(found, RATES).mean()]) == [0.250335]


def test_k4_visits_at_random_times():
    found = allocate.memoryless_rates(RATES, BUDGET)
    assert printed(found) == [1.385971, 1.374272, 1.132623, 0.771942, 0.335193]
    assert printed([(found / (found + RATES)).mean()]) == [0.297365]


def test_k5_lambdacrawl():
    found = allocate.harmonic_rates(RATES, BUDGET)
    assert printed(found) == [0.782868, 0.947178, 1.037174, 1.095643, 1.137136]
    assert printed(RATES / (found * (found + RATES))) == [0.716460] * 5
    assert printed([np.log1p(RATES / found).mean()]) == [1.308013]


def test_k5_lambdacrawl_with_weights():
    found = allocate.harmonic_rates(RATES, BUDGET, FALLING)
    assert printed(found) == [1.203884, 1.290230, 1.150622, 0.871437, 0.483827]
    assert printed([(FALLING * np.log1p(RATES / found)).mean()]) == [3.297318]


def test_k5_changes_told():
    found = allocate.complete_probabilities(RATES, BUDGET)
    np.testing.assert_allclose(found, 1 / RATES, rtol=1e-12)


def test_k16_harmonic_cost_is_a_logarithm():
    """E[H(N)] over the exponential time since a visit at random times: Ein(Δt) averaged."""
    expected = quad(lambda t: np.exp(-t) * quad(lambda s: -np.expm1(-s) / s, 0, 2 * t)[0], 0, 40)[0]
    assert expected == pytest.approx(np.log(3.0), rel=1e-9)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e12])
def test_the_unit_of_weights_does_not_matter(solve, scale):
    expected = solve(RATES, BUDGET, FALLING)
    np.testing.assert_allclose(solve(RATES, BUDGET, FALLING * scale), expected, rtol=1e-9)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_the_unit_of_time_does_not_matter(solve):
    expected = solve(RATES, BUDGET, FALLING)
    found = solve(RATES / 86_400, BUDGET / 86_400, FALLING)
    np.testing.assert_allclose(found * 86_400, expected, rtol=1e-9)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("budget", [1e-9, 1.0, 1e9])
def test_pages_alike_share_alike(solve, budget):
    np.testing.assert_allclose(solve(np.full(7, 0.3), 7 * budget), budget, rtol=1e-9)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_many_pages_get_what_one_of_each_kind_gets(solve):
    """The sample, the blocks and the threads change nothing."""
    copies = 40_000
    found = solve(np.tile(RATES, copies), BUDGET * copies, np.tile(FALLING, copies))
    expected = np.tile(solve(RATES, BUDGET, FALLING), copies)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_page_hardly_worth_a_visit_takes_what_is_left():
    """Its worth is flat to the last digit, so no price in floating point meets the budget."""
    rate, weight = np.array([1e-6, 1e3]), np.array([1.0, 0.5e9])
    found = allocate.freshness_rates(rate, 1.0, weight)
    assert rate[0] / found[0] == pytest.approx(1.678346990016661, rel=1e-9)  # (1+x)e^{−x} = ½
    assert found.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    ("inverse", "value", "y"),
    [
        (
            freshness._inverse,
            lambda x: gammainc(2.0, x),
            np.r_[np.logspace(-18, -0.01, 200), 1 - np.logspace(-15, -1, 50)],
        ),
        (age._inverse, age._value, np.logspace(-24, 18, 300)),
    ],
    ids=["freshness", "age"],
)
def test_inverses_have_all_digits(inverse, value, y):
    found = np.array([inverse(v) for v in y])
    np.testing.assert_allclose(value(found), y, rtol=2e-12)


@pytest.mark.parametrize("x", [1e-6, 0.005, 0.0199, 0.0202, 0.1])
def test_the_series_of_freshness_has_thirteen_digits(x):
    """Against 1 − (1+x)e^{−x} = Σ (−1)ᵏ (k−1)/k! xᵏ in whole numbers; the series ends near 0.02."""
    y = sum((-1) ** k * Fraction(k - 1, factorial(k)) * Fraction(x) ** k for k in range(2, 15))
    assert freshness._inverse(float(y)) == pytest.approx(x, rel=1e-13, abs=0.0)


def test_told_pages_worth_most_are_visited_at_every_change():
    rate, weight = np.array([1.0, 1.0, 4.0]), np.array([10.0, 1.0, 1.0])
    np.testing.assert_allclose(
        allocate.complete_probabilities(rate, 2.0, weight), [1.0, 0.5, 0.125]
    )


def test_told_pages_never_need_more_than_their_changes():
    assert allocate.complete_probabilities(RATES, 15.0).tolist() == [1.0] * 5
    assert allocate.mixed_rates(RATES, 99.0, np.ones(5, bool)).tolist() == RATES.tolist()


@pytest.mark.parametrize("budget", [0.01, 1.0, 5.0, 20.0, 1000.0])
@pytest.mark.parametrize("told", [[1, 0, 1, 0, 1], [0, 0, 0, 0, 1], [1, 1, 1, 1, 0]])
def test_mixed_is_the_best_split(budget, told):
    told = np.array(told, dtype=bool)

    def cost(visits):
        seen = np.where(told, visits / RATES, visits / (visits + RATES))
        return -(FALLING * np.log(seen)).sum()

    def split(share):
        out = np.empty(5)
        out[told] = RATES[told] * allocate.complete_probabilities(
            RATES[told], share * budget, FALLING[told]
        )
        rest = budget - out[told].sum()
        out[~told] = allocate.harmonic_rates(RATES[~told], rest, FALLING[~told])
        return cost(out)

    found = allocate.mixed_rates(RATES, budget, told, FALLING)
    assert found.sum() == pytest.approx(budget, rel=1e-12)
    assert (found[told] <= RATES[told]).all()
    best = min(split(share) for share in np.linspace(0.001, 0.999, 999))
    assert best - 1e-4 * abs(best) <= cost(found) <= best + 1e-12 * abs(best)


def test_mixed_without_told_pages_is_lambdacrawl():
    found = allocate.mixed_rates(RATES, BUDGET, np.zeros(5, bool))
    np.testing.assert_allclose(found, allocate.harmonic_rates(RATES, BUDGET), rtol=1e-12)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("seed", range(4))
def test_host_caps_against_a_general_solver(name, seed):
    rng = np.random.default_rng(seed)
    n, hosts, budget = 9, 3, 6.0
    rate, weight = 10 ** rng.uniform(-1, 1, n), rng.pareto(1.2, n) + 1
    host, cap = np.arange(n) % hosts, rng.uniform(0.3, 4.5, hosts)
    budget = min(budget, 0.9 * cap.sum())
    found = allocate.within_host_caps(OBJECTIVES[name], rate, budget, host, cap, weight)
    used = np.bincount(host, found)
    assert (used <= cap * (1 + 1e-11)).all()
    assert found.sum() == pytest.approx(budget, rel=1e-9)

    def cost(visits):
        return (weight * COSTS[name](np.maximum(visits, 1e-9), rate)).sum()

    limits = [{"type": "eq", "fun": lambda f: f.sum() - budget}] + [
        {"type": "ineq", "fun": lambda f, h=h: cap[h] - f[host == h].sum()} for h in range(hosts)
    ]
    start = (cap / 3 * (budget / cap.sum()))[host]
    options = {"maxiter": 500, "ftol": 1e-13}
    other = minimize(cost, start, bounds=[(1e-9, budget)] * n, constraints=limits, options=options)
    assert cost(found) <= other.fun * (1 + 1e-6)  # the solver may overstep a cap a little
    assert cost(found) == pytest.approx(other.fun, rel=1e-4)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_host_caps_of_many_hosts_meet_the_conditions(name):
    """One price for hosts below their cap, a higher one within each host at it."""
    objective = OBJECTIVES[name]
    rng = np.random.default_rng(0)
    n, hosts = 30_000, 3_000
    rate, weight = 10 ** rng.uniform(-2, 0.5, n), rng.pareto(1.2, n) + 1
    host = (rng.random(n) ** 3 * hosts).astype(np.int32)
    cap = rng.choice([0.0, 0.1, 1.0, np.inf], hosts)
    found = allocate.within_host_caps(objective, rate, 2_000.0, host, cap, weight)
    used = np.bincount(host, found, hosts)
    assert found.sum() == pytest.approx(2_000.0, rel=1e-9)
    assert (used <= cap * (1 + 1e-11)).all()
    seen = found > 1e-2 * rate  # rarer visits are worth the same in freshness to the last digit
    worth = objective.ratio(rate, weight)
    worth[seen] *= objective.value(rate[seen] / found[seen])
    full = used >= cap * (1 - 1e-9)
    price = worth[seen & ~full[host]]
    np.testing.assert_allclose(price, price[0], rtol=1e-9)
    within = seen & full[host]
    assert (worth[within] >= price[0] * (1 - 1e-9)).all()
    low, high = np.full(hosts, np.inf), np.zeros(hosts)
    np.minimum.at(low, host[within], worth[within])
    np.maximum.at(high, host[within], worth[within])
    np.testing.assert_allclose(low[high > 0], high[high > 0], rtol=1e-9)


def test_caps_below_the_budget_are_all_used():
    host, cap = np.array([0, 0, 1, 1, 2]), np.array([1.0, 0.5, 0.0])
    found = allocate.within_host_caps(allocate.HARMONIC, RATES, BUDGET, host, cap)
    np.testing.assert_allclose(np.bincount(host, found), cap, rtol=1e-12)


def test_caps_that_do_not_bind_change_nothing():
    found = allocate.within_host_caps(
        allocate.AGE, RATES, BUDGET, np.zeros(5, np.int64), np.array([np.inf])
    )
    np.testing.assert_allclose(found, allocate.age_rates(RATES, BUDGET), rtol=1e-12)


@pytest.mark.parametrize(
    ("rate", "budget", "weight", "message"),
    [
        (RATES, 0.0, None, "budget must be .* above 0. Got 0.0"),
        (RATES, np.nan, None, "budget must be"),
        (RATES, np.inf, None, "budget must be"),
        (RATES * 0, 1.0, None, "rate must be finite and above 0"),
        (RATES, 1.0, RATES * np.nan, "weight must be finite and above 0"),
        (RATES, 1.0, -RATES, "weight must be .* from -5.0 to -1.0"),
        (RATES, 1.0, RATES[:2], r"weight must have a value for each page.*\(2,\)"),
        (RATES[:0], 1.0, None, "rate must be a column of at least one page"),
    ],
)
@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_what_has_no_optimum_is_refused(solve, rate, budget, weight, message):
    with pytest.raises(BadInput, match=message):
        solve(rate, budget, weight)


@pytest.mark.parametrize(
    ("host", "cap", "message"),
    [
        (np.array([0, 0, 1, 1, 2]), np.ones(2), "host must number"),
        (np.array([0, 0, 1, 1, -1]), np.ones(2), "host must number"),
        (np.array([0, 0]), np.ones(2), "host must number"),
        (np.zeros(0, np.int64), np.ones(2), "host must number"),
        (np.zeros(5, np.int64), np.array([-1.0]), "cap must be 0 or more.*-1.0"),
        (np.zeros(5, np.int64), np.array([np.nan]), "cap must be 0 or more.*nan"),
    ],
)
def test_caps_without_sense_are_refused(host, cap, message):
    with pytest.raises(BadInput, match=message):
        allocate.within_host_caps(allocate.HARMONIC, RATES, BUDGET, host, cap)


def test_told_must_be_a_column_of_truths():
    with pytest.raises(BadInput, match="announced must be true or false"):
        allocate.mixed_rates(RATES, BUDGET, np.ones(3, bool))
