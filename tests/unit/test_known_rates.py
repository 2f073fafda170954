"""Visitors who know how often pages change: never above the limit, and above who has to learn it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import daily_trace

from recrawl.lab.compare import compare
from recrawl.lab.known_rates import known_rates
from recrawl.lab.replay import replay
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write
from recrawl.model import Budget
from recrawl.registry import make

KNOWN = ("change_ratio_known_rates", "change_ratio_past_rates")


def limits(trace, budget):
    found = compare([trace], ["poisson"], [budget])
    runs = {run["policy"]: run for run in found.runs}
    return found.bounds[trace.name][budget], runs


def test_by_hand(tmp_path):
    """One page changes each day, one has two texts in turn, one never changes."""
    days = range(12)
    texts = {
        "https://a.org/fast": [f"text {day}" for day in days],
        "https://a.org/still": ["text" for _ in days],
        "https://a.org/turns": ["text one" if day % 2 else "text two" for day in days],
    }
    trace = daily_trace(tmp_path / "trace", texts)
    one = known_rates(trace, replay(trace, "oldest", Budget(fetches=1)))
    # The two that change are visited in turn, at ages of two days: then one of them is as before.
    assert one["change_ratio_known_rates"] == pytest.approx(0.5, abs=0.07)
    assert one["freshness_known_rates"] == pytest.approx(2 / 3, abs=0.07)
    two = known_rates(trace, replay(trace, "oldest", Budget(fetches=2)))
    assert two["change_ratio_known_rates"] == two["freshness_known_rates"] == 1.0
    assert two["change_ratio_past_rates"] == 1.0
    assert two["age_days_known_rates"] == 0.0
    assert two["ephemeral_known_rates"] == pytest.approx(1.0)


pages = st.lists(st.lists(st.sampled_from("abc"), min_size=9, max_size=9), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None)
@given(pages, st.integers(1, 3))
def test_no_visitor_is_above_the_limit(texts, fetches):
    """Also where texts return, or change faster than cycles come."""
    with tempfile.TemporaryDirectory() as folder:
        urls = {f"https://a.org/{i}": [f"text {t}" for t in each] for i, each in enumerate(texts)}
        trace = daily_trace(Path(folder) / "trace", urls)
    limit, _ = limits(trace, f"{fetches}")
    for name in KNOWN:
        assert limit[name] <= limit["change_ratio"] + 1e-12


@pytest.mark.parametrize("name", ["poisson", "flapping", "weekly"])
def test_who_knows_rates_finds_more_than_who_learns_them(tmp_path, name):
    write(make("world", name).make(pages=300, days=60, seed=3), tmp_path)
    limit, runs = limits(read_trace(tmp_path), "5%")
    known, past = (limit[each] for each in KNOWN)
    learned = runs["poisson"]["change_ratio"]
    assert learned < min(known, past)
    assert max(known, past) <= limit["change_ratio"]
    if name == "poisson":
        assert past < known
        best = max(run["freshness"] for run in runs.values())
        assert limit["freshness_known_rates"] > best
        assert limit["age_days_known_rates"] < min(run["age_days"] for run in runs.values())


def test_without_a_budget_there_is_nothing_to_know(tmp_path):
    trace = daily_trace(tmp_path / "trace", {"https://a.org/": [f"text {day}" for day in range(9)]})
    assert not any(name in limits(trace, "0")[0] for name in KNOWN)
    assert np.isfinite(limits(trace, "1")[0]["change_ratio_known_rates"])
