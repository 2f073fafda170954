"""Limits at known rates: Cho's five pages, and what a replay reaches of them."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.lab.compare import compare
from recrawl.lab.known_rates import best
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write
from recrawl.registry import make

FIVE = np.arange(1.0, 6.0)


def test_chos_five_pages():
    found = best(FIVE, 5.0)
    assert found["freshness"] == pytest.approx(0.373889, abs=5e-7)
    assert found["change_ratio"] == pytest.approx(0.950213, abs=5e-7)  # proportional visits
    assert found["age_days"] == pytest.approx(0.250335, abs=5e-7)


def test_no_page_gets_more_visits_than_there_are_cycles():
    free, capped = best(FIVE, 2.5), best(FIVE, 2.5, most=0.6)
    assert capped["change_ratio"] < free["change_ratio"]
    assert best(FIVE, 5.0, most=1.0)["change_ratio"] == pytest.approx((1 - np.exp(-FIVE)).mean())


def test_pages_that_never_change_are_fresh_for_nothing():
    still = best(np.concatenate([FIVE, np.zeros(5)]), 5.0)
    assert still["freshness"] == pytest.approx((0.373889 + 1) / 2, abs=5e-7)
    assert best(np.zeros(3), 1.0)["freshness"] == 1.0


def test_a_replay_on_a_poisson_world_comes_near_but_not_above(tmp_path):
    write(make("world", "poisson").make(pages=800, days=60, seed=3), tmp_path)
    trace = read_trace(tmp_path)
    found = compare([trace], ["poisson"], ["5%"])
    limits = found.bounds[trace.name]["5%"]
    run = next(r for r in found.runs if r["policy"] == "poisson")
    assert (
        0.6 * limits["change_ratio_known_rates"]
        < run["change_ratio"]
        < limits["change_ratio_known_rates"] * 1.02
    )
    assert run["freshness"] < limits["freshness_known_rates"] * 1.02
    assert limits["change_ratio_known_rates"] < limits["change_ratio"] + 1e-9
