"""Policies that visit each page at its optimal rate."""

from dataclasses import replace

import numpy as np
import pytest

from recrawl import allocate, registry
from recrawl.checks import sample_pages
from recrawl.checks.sample import NOW
from recrawl.errors import BadInput
from recrawl.model import DAY
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
