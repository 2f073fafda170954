"""Quality of answers in a replay, by hand; and step by step as from scratch."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support import write_trace
from typer.testing import CliRunner

from recrawl.cli import app
from recrawl.lab.answers import Answers
from recrawl.lab.compare import compare
from recrawl.lab.replay import FetchLog
from recrawl.lab.report import write_report
from recrawl.lab.traces import open_trace
from recrawl.model import DAY
from recrawl.search.matches import Matches
from recrawl.search.quality import UsefulnessTracker, usefulness
from recrawl.search.views import view_probabilities
from recrawl.search.workload import build_workload

A, B = "https://a.example/a", "https://a.example/b"
SECOND = 2**-1.5  #: how often the second result is viewed, as a share of the first
WARM_UP = 2
CYCLES = 11


def fetch_log(trace, fetches, failed=()):
    """A run that fetches all pages in the warm-up, then these (cycle, page)."""
    rows = [(cycle, page) for cycle in range(WARM_UP + 1) for page in range(len(trace))]
    cycle, page = np.array([*rows, *fetches]).T
    times = trace.window[0] + DAY * np.arange(CYCLES)
    succeeded = np.array([row not in failed for row in [*rows, *fetches]])
    nothing = np.full(len(page), np.nan)
    moments = (times, np.arange(CYCLES))
    return FetchLog(
        times, WARM_UP, cycle.astype(np.int32), page, times[cycle], succeeded, nothing, 1, moments
    )


@pytest.fixture
def trace(tmp_path):
    """From day 5.5 on page A also holds the word dog."""
    rows = [
        (A, 0, 200, "cat x x x", []),
        (A, 5.5, 200, "cat dog x x", []),
        (B, 0, 200, "cat dog x x", []),
    ]
    return open_trace(write_trace(tmp_path / "t", rows))


def test_q_and_q_prime_by_hand(trace):
    answers = Answers.of(trace, build_workload(["cat dog"], np.ones(1)))
    # The whole query: our old copy of A does not match, so only B is listed, with the same score.
    stale = 1 / (1 + SECOND)
    # Each word: for cat the order stays (ties by page), for dog A is missing. Both texts have four
    # words. Of two pages two held cat, one dog: idf is 1 + ln(2/3) and 1 + ln(2/2).
    cat, dog = (1 + np.log(2 / 3)) ** 2, 1.0
    by_word = (cat * (1 + SECOND) + dog) / ((cat + dog) * (1 + SECOND))
    # Cycles 3 to 10 count. A is stale from cycle 6 until cycle 8 refreshes it.
    run = answers.measure(fetch_log(trace, [(4, 1), (8, 0)]))
    assert run["quality"] == pytest.approx((6 + 2 * stale) / 8)
    assert run["quality_by_word"] == pytest.approx((6 + 2 * by_word) / 8)
    never = answers.without_refreshes(fetch_log(trace, [(4, 1), (8, 0)]))
    assert never["quality_never"] == pytest.approx((3 + 5 * stale) / 8)
    assert never["quality_by_word_never"] == pytest.approx((3 + 5 * by_word) / 8)


def test_without_refreshes_the_copies_are_those_of_the_last_warm_up_cycle(tmp_path):
    rows = [
        (A, 0, 200, "cat x x x", []),
        (A, 1.5, 200, "cat dog x x", []),
        (B, 0, 200, "cat dog x x", []),
    ]
    trace = open_trace(write_trace(tmp_path / "t", rows))
    answers = Answers.of(trace, build_workload(["cat dog"], np.ones(1)))
    never = answers.without_refreshes(fetch_log(trace, [(4, 1)]))
    assert never == {"quality_never": 1.0, "quality_by_word_never": 1.0}


def test_a_visit_to_a_page_that_is_gone_removes_its_copy_and_a_failure_does_not(tmp_path):
    rows = [(A, 0, 200, "dog", []), (A, 4.5, 410, "", []), (B, 0, 200, "dog", [])]
    trace = open_trace(write_trace(tmp_path / "t", rows), cohort="all")
    answers = Answers.of(trace, build_workload(["dog"], np.ones(1)))
    # While we hold A, nothing is behind the first result; B is second and worth the same.
    fetched = [(6, 1), (7, 0)]
    run = answers.measure(fetch_log(trace, fetched, failed=[(6, 1), (7, 0)]))
    assert run["quality"] == pytest.approx((2 + 2 * SECOND + 4) / 8)


def test_usefulness_step_by_step_is_that_from_scratch():
    rng = np.random.default_rng(0)
    page = np.repeat(np.arange(30), 3).astype(np.int32)  # three documents a page
    lists = [rng.permutation(90)[: rng.integers(0, 60)] for _ in range(40)]
    start = np.concatenate([[0], np.cumsum([len(each) for each in lists])])
    score = np.concatenate([np.sort(rng.random(len(each)))[::-1] for each in lists])
    document = np.concatenate(lists).astype(np.int32)
    matches = Matches(start, document, score, rng.random(40), page)
    p_view = view_probabilities(matches.longest() + 1)
    tracker = UsefulnessTracker(matches, 30, p_view)
    copies = live = np.where(np.arange(30) < 20, 3 * np.arange(30), -1)
    for _ in range(20):
        copies, live = copies.copy(), live.copy()
        for held in (copies, live):
            some = rng.integers(0, 30, 2)
            held[some] = np.where(rng.random(2) < 0.2, -1, 3 * some + rng.integers(0, 3, 2))
        assert tracker.usefulness(copies, live) == pytest.approx(
            usefulness(matches, copies, live, p_view), rel=1e-12
        )


def test_queries_of_a_document():
    matches = Matches(
        np.array([0, 2, 3, 3]), np.array([1, 0, 1], np.int32), np.ones(3), np.ones(3), np.arange(3)
    )
    assert matches.queries_of(np.array([1, -1])).tolist() == [0, 1]
    assert matches.queries_of(np.array([0])).tolist() == [0]
    assert matches.queries_of(np.array([2])).tolist() == []


def test_split_queries_are_asked_as_often_as_all_queries_that_hold_them():
    workload = build_workload(["cat dog", "cat", "bird"], np.array([2.0, 3.0, 5.0]))
    split = workload.split_queries()
    assert len(split) == 3
    assert np.diff(split.start).tolist() == [1, 1, 1]
    assert sorted(split.frequency.tolist()) == pytest.approx([0.2, 0.5, 0.5])  # dog; cat; bird


def test_replay_shows_the_quality_of_answers(trace, tmp_path):
    (tmp_path / "q.tsv").write_text("cat dog\t1\n")
    words = ["replay", str(tmp_path / "t"), "--objective", "search", "--queries"]
    words += [str(tmp_path / "q.tsv"), "--budget", "1"]
    shown = CliRunner().invoke(app, words).output
    assert "Q′" in shown
    assert "(never refreshed)" in shown
    told = json.loads(CliRunner().invoke(app, [*words, "--json", "-"]).stdout)
    # Either page waits a cycle at most, so A is stale in at most one of eight cycles.
    assert all(0.9 < run["quality"] <= 1 for run in told["runs"])
    bound = told["bounds"]["t"]["1"]["quality_never"]
    assert bound == pytest.approx((3 + 5 / (1 + SECOND)) / 8)
    assert f"{bound:.5f}" in shown


def test_the_report_has_the_quality_only_if_it_was_measured(trace, tmp_path):
    (tmp_path / "q.tsv").write_text("cat dog\t1\n")
    for queries in (None, tmp_path / "q.tsv"):
        write_report(compare([trace], [], ["1"], queries=queries), tmp_path / "r.html")
        text = (tmp_path / "r.html").read_text("utf-8")
        assert ("never refreshed</th>" in text) == (queries is not None)
        rows = [line for line in text.splitlines() if line.startswith("<tr")]
        assert len({row.count("<th") + row.count("<td") for row in rows if "limit" in row}) == 1
