"""Policies that visit each page at its optimal rate."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from recrawl import allocate, registry
from recrawl.checks import sample_pages
from recrawl.checks.sample import NOW
from recrawl.errors import BadInput, UnknownPart
from recrawl.model import DAY, PageSignals
from recrawl.policies.allocated import VISIT_RATES

STARVING = ("azar", "cho-freshness")


def known(rates):
    """Pages whose smoothed rate is the one given, visited at `NOW`."""
    n, counted = len(rates), 1_000_000
    return replace(
        sample_pages(n=n),
        last_visit=np.full(n, NOW),
        n_changes=np.full(n, counted),
        exposure=(counted + 0.5) / rates - 0.5,
    )


@pytest.mark.parametrize("name", VISIT_RATES)
def test_scores_are_visits_due(name):
    rates = np.arange(1.0, 6.0)
    policy = registry.make("policy", name, visits_per_day=5.0)
    found = policy.score(known(rates), NOW + 3 * DAY)
    np.testing.assert_allclose(found, 3.0 * VISIT_RATES[name](rates, 5.0), rtol=1e-9)


@pytest.mark.parametrize("name", VISIT_RATES)
def test_only_some_starve_pages_and_say_so(name):
    pages = known(10.0 ** np.linspace(-3, 2, 200))
    found = registry.make("policy", name).score(pages, NOW + DAY)
    assert np.isfinite(found).all()
    assert (found == 0.0).any() == (name in STARVING)
    assert ("tarves" in registry.parts("policy")[name].__doc__) == (name in STARVING)


@pytest.mark.slow
@pytest.mark.parametrize("name", VISIT_RATES)
def test_ranking_by_the_score_visits_at_the_optimal_rates(name):
    """100 pages of each rate 1..5, 500 visits a day; a page's visits come out evenly spaced."""
    rates = np.repeat(np.arange(1.0, 6.0), 100)
    policy = registry.make("policy", name, visits_per_day=500.0)
    pages, days, step = known(rates), 60, 1 / 20
    count = np.zeros(500)
    for cycle in range(1, int(days / step) + 1):
        now = NOW + cycle * step * DAY
        chosen = np.argsort(-policy.score(pages, now), kind="stable")[: int(500 * step)]
        last = pages.last_visit.copy()
        last[chosen] = now
        pages = replace(pages, last_visit=last)
        count[chosen] += 1
    found = count.reshape(5, 100).mean(axis=1) / days
    np.testing.assert_allclose(found, VISIT_RATES[name](rates, 500.0)[::100], atol=0.05)


@pytest.mark.parametrize("name", VISIT_RATES)
@pytest.mark.parametrize("visits", [0.0, -1.0, np.nan, np.inf])
def test_a_budget_of_nothing_is_refused(name, visits):
    policy = registry.make("policy", name, visits_per_day=visits)
    with pytest.raises(BadInput, match=f"visits_per_day of {name} must be finite and above 0"):
        policy.score(sample_pages(), NOW)


def test_the_default_budget_is_a_twentieth_of_the_pages():
    pages = sample_pages()
    rate = registry.make("rate", "mle").rate(pages)
    found = registry.make("policy", "lambdacrawl", rate="mle").score(pages, NOW)
    expected = allocate.harmonic_rates(rate, len(pages) / 20) * pages.days_since_visit(NOW)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# Caps of hosts


def plain_optimum(cost, budget, groups, most):
    """The cheapest visits a day by a general solver: in all `budget`, in each group at most."""
    n = len(groups)
    limits = [{"type": "eq", "fun": lambda f: f.sum() - budget}]
    limits += [
        {"type": "ineq", "fun": lambda f, g=g: most[g] - f[groups == g].sum()}
        for g in range(len(most))
    ]
    start = np.array([min(budget / n, most[g] / (groups == g).sum()) for g in groups])
    start *= budget / start.sum()
    return minimize(
        cost,
        start,
        method="SLSQP",
        bounds=[(1e-9, None)] * n,
        constraints=limits,
        options={"maxiter": 1_000, "ftol": 1e-15},
    ).x


SIX = np.array([0.2, 0.5, 1.0, 0.3, 2.0, 4.0])
HOSTS = np.array([0, 0, 0, 1, 1, 1])
COSTS = {
    "azar": lambda f: (SIX / (f + SIX)).sum(),
    "cho-freshness": lambda f: (1 + f / SIX * np.expm1(-SIX / f)).sum(),
    "lambdacrawl": lambda f: np.log1p(SIX / f).sum(),
}


@pytest.mark.parametrize("objective", COSTS)
def test_polite_visits_at_the_best_rates_within_caps(objective):
    """Six pages on two hosts, 3 visits a day; the busier host may get half of what it wants above 1½."""
    pages = replace(known(SIX), host=HOSTS * 7 + 3)  # numbers of hosts may have gaps
    free = registry.make("policy", objective, visits_per_day=3.0).score(pages, NOW + DAY)
    cap = (1.5 + np.bincount(HOSTS, free).max()) / 2
    policy = registry.make(
        "policy", "polite", host_cap=cap, visits_per_day=3.0, objective=objective
    )
    found = policy.score(pages, NOW + 2 * DAY) / 2.0
    assert found.sum() == pytest.approx(3.0)
    assert np.bincount(HOSTS, found).max() == pytest.approx(cap)
    plain = plain_optimum(COSTS[objective], 3.0, HOSTS, np.full(2, cap))
    np.testing.assert_allclose(found, plain, atol=2e-3)
    assert COSTS[objective](np.maximum(found, 1e-9)) <= COSTS[objective](plain) + 1e-9


def test_what_a_full_host_leaves_goes_to_the_others():
    pages = replace(known(SIX), host=HOSTS)
    free = registry.make("policy", "polite", visits_per_day=3.0).score(pages, NOW + DAY)
    np.testing.assert_allclose(
        free, registry.make("policy", "azar", visits_per_day=3.0).score(pages, NOW + DAY)
    )
    more, less = np.argsort(np.bincount(HOSTS, free))[::-1].tolist()
    busy = np.isin(HOSTS, more)
    cap = 0.8 * np.bincount(HOSTS, free).max()
    found = registry.make("policy", "polite", visits_per_day=3.0, host_cap=cap)
    visits = found.score(pages, NOW + DAY)
    assert np.bincount(HOSTS, visits)[more] == pytest.approx(cap)
    assert np.bincount(HOSTS, visits)[less] == pytest.approx(3.0 - cap)
    assert (visits[busy] <= free[busy]).all()
    assert (visits[~busy] >= free[~busy]).all()


def test_caps_below_the_budget_leave_some_of_it():
    pages = replace(known(SIX), host=HOSTS)
    policy = registry.make("policy", "polite:host_cap=0.5,visits_per_day=3,objective=cho-age")
    assert policy.score(pages, NOW + DAY).sum() == pytest.approx(1.0)


def test_what_polite_refuses():
    pages = known(SIX)
    for cap in (0.0, -1.0, np.nan):
        with pytest.raises(BadInput, match=f"host_cap of polite must be .* Got {cap}"):
            registry.make("policy", "polite", host_cap=cap).score(pages, NOW)
    with pytest.raises(UnknownPart, match=r"No objective called 'cho'.*Known: cho-freshness"):
        registry.make("policy", "polite", objective="cho").score(pages, NOW)


# Announced changes


def announced(rates, claims, recall):
    n = len(rates)
    own = PageSignals(
        ("ping",),
        np.zeros((n, 1)),
        np.array(claims, float)[:, None],
        np.array(recall, float)[:, None],
        np.full((n, 1), 1e-6),
        np.full(n, 7.0),  # not the rate of these policies, which have one of their own
    )
    return replace(known(rates), signals=own)


def test_complete_observations_visit_a_share_of_the_announced_changes():
    """K5: at budget 5 and rates 1..5 the shares are 1, ½, ⅓, ¼ and ⅕; nothing before a claim."""
    rates = np.arange(1.0, 6.0)
    policy = registry.make("policy", "lambdacrawl-signals", visits_per_day=5.0)
    for claims in (0, 1, 3):
        pages = announced(rates, [claims] * 5, [0.95] * 5)
        found = policy.score(pages, NOW + DAY)
        np.testing.assert_allclose(found, claims / rates, rtol=1e-9)


def test_mixed_observations_against_a_general_solver():
    """Pages 0, 2 and 4 are announced: they cost −ln p at a share p of their changes."""
    rates = np.arange(1.0, 6.0)
    told = np.arange(5) % 2 == 0
    recall = np.where(told, 0.95, 0.5)
    pages = announced(rates, [2] * 5, recall)
    policy = registry.make("policy", "lambdacrawl-signals", visits_per_day=5.0)

    def cost(f):
        p = np.minimum(f / rates, 1.0)
        return np.where(told, -np.log(p), np.log1p(rates / f)).sum()

    best = plain_optimum(cost, 5.0, np.arange(5), np.where(told, rates, 99.0))
    due = np.where(told, 2.0 / rates, pages.days_since_visit(NOW + DAY, rates))
    np.testing.assert_allclose(policy.score(pages, NOW + DAY), best * due, rtol=1e-3)


def test_signals_are_trusted_from_a_recall_on():
    rates = np.arange(1.0, 6.0)
    quiet = announced(rates, [0] * 5, [0.85, 0.9, 0.95, 0.0, 0.5])
    found = registry.make("policy", "lambdacrawl-signals").score(quiet, NOW + DAY)
    assert (found == 0.0).tolist() == [False, True, True, False, False]
    every = registry.make("policy", "lambdacrawl-signals", recall=0.0).score(quiet, NOW + DAY)
    assert (every == 0.0).tolist() == [True, True, True, False, True]


def test_without_signals_it_is_lambdacrawl():
    pages = sample_pages()
    with_signals = registry.make("policy", "lambdacrawl-signals").score(pages, NOW)
    np.testing.assert_array_equal(
        with_signals, registry.make("policy", "lambdacrawl").score(pages, NOW)
    )


def test_allocated_policies_take_the_effective_time():
    rates = np.array([0.1, 1.0, 3.0])
    pages = announced(rates, [1, 0, 2], [0.5] * 3)
    effective = pages.days_since_visit(NOW + DAY, rates)
    for name in VISIT_RATES:
        found = registry.make("policy", name, visits_per_day=2.0).score(pages, NOW + DAY)
        np.testing.assert_allclose(found, VISIT_RATES[name](rates, 2.0) * effective, rtol=1e-6)
    polite = registry.make("policy", "polite", visits_per_day=2.0).score(pages, NOW + DAY)
    np.testing.assert_allclose(polite, allocate.memoryless_rates(rates, 2.0) * effective, rtol=1e-6)
