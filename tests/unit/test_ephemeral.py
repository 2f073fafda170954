"""Content that loses its worth: the index, the best visit rates, the metric; and overhead."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from support import write_trace

from recrawl import allocate, registry
from recrawl.checks import sample_pages
from recrawl.checks.sample import NOW
from recrawl.errors import BadInput
from recrawl.lab.compare import compare
from recrawl.lab.ephemeral import ephemeral_worth
from recrawl.lab.metrics import DailyMetrics, daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.trace import read_trace
from recrawl.model import DAY, Budget, PageSignals
from recrawl.planner import policy_for
from recrawl.policies.indices import HALF_LIFE_DAYS, INDICES, ephemeral

LN2 = np.log(2.0)


def test_the_index_by_hand():
    """Half-life ln 2 is μ = 1: U = λ(1 − 2/e) after a day (K15), and λ in the end."""
    rate = np.array([1.0, 3.0])
    assert ephemeral(rate, np.ones(2), LN2) == pytest.approx([0.264241, 0.792723], abs=5e-7)
    assert ephemeral(rate, np.full(2, 99.0), LN2) == pytest.approx(rate)
    assert INDICES["ephemeral"](rate, np.ones(2)) == pytest.approx(ephemeral(rate, np.ones(2), 2.0))


@pytest.mark.parametrize(("rate", "days", "half_life"), [(0.3, 2.0, 1.0), (2.0, 0.5, 4.0)])
def test_the_index_is_the_price_of_a_visit(rate, days, half_life):
    """Visits every T days gain R(T)/T a day; T is best at the price R − T·R′ of a visit."""
    decay = LN2 / half_life

    def gain(days):
        return quad(lambda s: rate * np.exp(-decay * (days - s)), 0.0, days)[0]

    slope = (gain(days + 1e-5) - gain(days - 1e-5)) / 2e-5
    found = ephemeral(np.array([rate]), np.array([days]), half_life)[0]
    assert found == pytest.approx(gain(days) - days * slope, rel=1e-6)


def test_the_best_rates_against_a_general_solver():
    rate = np.array([0.1, 0.5, 1.0, 4.0])

    def lost(visits):
        decay, visits = LN2 / 2.0, np.maximum(visits, 1e-9)
        return -(rate * visits / decay * -np.expm1(-decay / visits)).sum()

    plain = minimize(
        lost,
        np.full(4, 0.5),
        method="SLSQP",
        bounds=[(1e-9, None)] * 4,
        constraints=[{"type": "eq", "fun": lambda f: f.sum() - 2.0}],
        options={"ftol": 1e-14, "maxiter": 500},
    ).x
    found = allocate.ephemeral_rates(rate, 2.0, 2.0)
    np.testing.assert_allclose(found, plain, atol=2e-4)
    assert found.sum() == pytest.approx(2.0)


def known(rates, days):
    """Pages of these rates, visited `days` ago."""
    n, counted = len(rates), 1_000_000
    return replace(
        sample_pages(n=n),
        last_visit=np.full(n, NOW - days * DAY),
        n_visits=np.full(n, 9),
        n_changes=np.full(n, counted),
        exposure=(counted + 0.5) / np.array(rates) - 0.5,
    )


def test_the_policy_ranks_by_the_index():
    pages = known([0.1, 1.0, 5.0], 3.0)
    found = registry.make("policy", "ephemeral", half_life=4.0).score(pages, NOW)
    expected = ephemeral(np.array([0.1, 1.0, 5.0]), np.full(3, 3.0), 4.0)
    assert found == pytest.approx(expected, rel=1e-6)


def test_a_new_page_is_worth_most_when_it_was_just_found():
    """So one score splits the budget: a new page goes before a source until its worth is lower."""
    pages = known([0.1, 0.1, 0.1], 99.0)
    born = NOW - DAY * np.array([0.0, 0.0, 4.0])
    pages = replace(
        pages,
        n_visits=np.array([9, 0, 0]),
        last_visit=np.array([NOW - 99 * DAY, np.nan, np.nan]),
        first_seen=born,
    )
    source, new, older = registry.make("policy", "ephemeral").score(pages, NOW)
    assert source == pytest.approx(0.1 * HALF_LIFE_DAYS / LN2, rel=1e-5)  # λ/μ
    assert (new, older) == pytest.approx((1.0, 0.25))
    assert new > source > older


def test_claims_raise_what_a_visit_is_worth():
    pages = known([0.2, 0.2, 0.2], 3.0)
    claims = np.array([[0.0], [1.0], [2.0]])
    own = PageSignals(
        ("feed",), claims, claims, np.full((3, 1), 0.8), np.full((3, 1), 0.05), np.full(3, 0.2)
    )
    plain = registry.make("policy", "ephemeral").score(pages, NOW)[0]
    quiet, one, two = registry.make("policy", "ephemeral").score(replace(pages, signals=own), NOW)
    assert quiet == pytest.approx(0.2 * plain)
    # A claim counts as ln(1 + rΔ/ν) = ln 4.2 changes in the three days.
    per_change = plain / (0.2 * 3.0)
    assert one - quiet == pytest.approx(two - one) == pytest.approx(np.log(4.2) * per_change)


def test_a_half_life_of_nothing_is_refused():
    for days in (0.0, -1.0, np.nan, np.inf):
        policy = registry.make("policy", "ephemeral", half_life=days)
        with pytest.raises(BadInput, match=f"half_life of ephemeral must be .* Got {days}"):
            policy.score(sample_pages(), NOW)


def test_it_is_an_objective_that_never_skips_a_fast_page():
    assert policy_for("ephemeral") == "auto:objective=ephemeral"
    pages = known([0.5, 5.0, 50.0], 3.0)
    scores = registry.make("policy", "auto:objective=ephemeral").score(pages, NOW)
    assert (np.diff(scores) > 0).all()


def worth(trace, *, fetches, warm_up=0):
    log = replay(trace, "oldest", Budget(fetches=fetches), warm_up=warm_up)
    return ephemeral_worth(trace, log)["ephemeral"]


def test_worth_found_by_hand(tmp_path):
    """Two pages fetched each midnight; a change of noon is found after half a day, worth 2^{−¼}."""
    a, b = "https://a.example/a", "https://a.example/b"
    rows = [(a, 0, 200, "0", []), (b, 0, 200, "0", []), (a, 2.5, 200, "1", [])]
    trace = read_trace(write_trace(tmp_path / "one", rows))
    assert worth(trace, fetches=2) == pytest.approx(2**-0.25)
    # Every second day: 1 cycle fetches a, the next b; a is fetched on days 1, 3, 5.
    assert worth(trace, fetches=1) in (pytest.approx(2**-0.25), pytest.approx(2**-0.75))
    # Two changes before a visit are both found at it, and each counts by its own age.
    trace = read_trace(write_trace(tmp_path / "two", [*rows, (a, 2.75, 200, "2", [])]))
    assert worth(trace, fetches=2) == pytest.approx((2**-0.25 + 2**-0.125) / 2)
    # A change in the warm-up, a version with the same content and an error are not new content.
    more = [(b, 1.5, 200, "1", []), (b, 4, 200, "1", []), (a, 6.5, 404, "", [])]
    trace = read_trace(write_trace(tmp_path / "three", [*rows, *more]))
    assert worth(trace, fetches=2, warm_up=2) == pytest.approx(2**-0.25)
    # What is never found is worth nothing; what never appears cannot be lost.
    trace = read_trace(write_trace(tmp_path / "four", [*rows, (b, 9.99, 200, "1", [])]))
    assert worth(trace, fetches=2) == pytest.approx((2**-0.25 + 2**-0.005) / 2)
    assert worth(trace, fetches=0) == 0.0
    trace = read_trace(write_trace(tmp_path / "five", rows[:2]))
    assert worth(trace, fetches=0) == 1.0


def test_a_page_that_appears_is_new_content(tmp_path):
    home, born = "https://a.example/", "https://a.example/born"
    rows = [
        (home, 0, 200, "0", []),
        (home, 2.5, 200, "1", [born]),
        (born, 2.5, 200, "new", []),
    ]
    trace = read_trace(write_trace(tmp_path / "trace", rows))
    log = replay(trace, "oldest", Budget(fetches=2), warm_up=0)
    # The change of home is found on day 3, and with it the link; the page is fetched on day 4.
    assert ephemeral_worth(trace, log)["ephemeral"] == pytest.approx((2**-0.25 + 2**-0.75) / 2)
    run = daily(trace, log)
    found = summary(run)
    old = run.fetched.sum() - 1
    assert found["overhead_per_page"] == old
    assert found["overhead_per_link"] == old
    assert compare([trace], [], ["2"], warm_up=0).runs[0]["ephemeral"] > 0


def test_overhead_by_hand():
    """Ten fetches, one of them of a new page; four links were never seen before."""
    empty = {f.name: np.zeros(2) for f in fields(DailyMetrics)}
    given = {
        "fetched": np.array([5.0, 5.0]),
        "first": np.array([1.0, 0.0]),
        "never_seen": np.array([2.0, 2.0]),
    }
    found = summary(DailyMetrics(**empty | given))
    assert (found["overhead_per_link"], found["overhead_per_page"]) == (9 / 4, 9.0)
    none = summary(DailyMetrics(**empty | {"fetched": np.array([5.0, 5.0])}))
    assert (none["overhead_per_link"], none["overhead_per_page"]) == (10.0, 10.0)
