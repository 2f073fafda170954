"""The tables of the experiment, with cells worked out by hand; what a batch costs, by a clock."""

from __future__ import annotations

from itertools import count

import pytest
from support import table_cells, write_trace

from recrawl.lab.traces import open_trace
from recrawl.papers.pandey import overhead
from recrawl.papers.pandey.data import title_workload
from recrawl.papers.pandey.experiment import RefreshRun
from recrawl.papers.pandey.tables import NAMES, _needed, _ways, recency_table


def run(policy, refreshes, way, tau=None):
    """Of 1000 pages; the scale of quality begins at 0, so that quality is the way."""
    return RefreshRun("split", policy, refreshes / 1000, refreshes, tau, way, 0.0)


RUNS = [
    run("user-centric", 10, 0.6),
    run("user-centric", 100, 1.0),
    run("staleness", 10, 0.4, tau=0.3),
    run("staleness", 100, 0.9, tau=0.5),
    run("oldest", 10, 0.0),
    run("oldest", 100, 0.0),
]


def test_the_way_of_each_policy_and_the_best_threshold_of_a_rival():
    rows = table_cells(_ways(RUNS, "split"))
    assert rows["split: way, by pages refreshed a cycle"] == ["1.00%", "10.00%"]
    assert rows[NAMES["user-centric"]] == ["0.600", "1.000"]
    assert rows[NAMES["staleness"]] == ["0.400 (0.3)", "0.900 (0.5)"]


def test_refreshes_needed():
    """Staleness needs 10 × 10^(1/5) = 16 for a half, 10 × 10^(4/5) = 63 for 80 %, and never 95 %.

    User-centric has a half with its least budget, and 80 % half way between its two: at 10 × √10.
    """
    rows = table_cells(_needed(RUNS, ["split"]))
    levels = ["50%", "80%", "95%", "97%", "99%"]
    assert rows["refreshes a cycle for"] == [f"split {level}" for level in levels]
    assert rows[NAMES["user-centric"]] == ["10 (1.6)", "32 (2.0)", "75", "84", "94"]
    assert rows[NAMES["staleness"]] == ["16", "63", "–", "–", "–"]
    assert rows[NAMES["oldest"]] == ["–"] * 5


def test_the_way_by_which_refreshes_count():
    own = [run("raw", 10, 0.25), run("raw", 100, 0.75)]
    rows = table_cells(recency_table("web", {"all": own, "the last": own[::-1]}).splitlines())
    assert rows["web, split: way, by pages refreshed a cycle"] == ["1.00%", "10.00%"]
    assert rows["all"] == ["0.250", "0.750"]
    assert rows["the last"] == ["0.750", "0.250"]


def test_a_batch_costs_the_mean_of_a_turn(tmp_path, monkeypatch):
    """By a clock that ticks once when it is read, and a processor's that ticks twice."""
    rows = [(f"https://a.example/{page}", 0, 200, f"cat {page}", []) for page in range(3)]
    trace = open_trace(write_trace(tmp_path / "trace", rows))
    for name, step in (("perf_counter", 1), ("process_time", 2)):
        ticks = count(0, step)
        monkeypatch.setattr(overhead, name, lambda ticks=ticks: next(ticks))
    cost = overhead._run((trace, title_workload(trace)), 2)
    assert (cost["pages"], cost["megabytes"]) == (2, pytest.approx(10e-6))
    assert (cost["elapsed"], cost["processor"]) == ((1, 1), (2, 2))
