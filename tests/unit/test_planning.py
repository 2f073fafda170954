"""Plans by known answers: how many, who is due, in which order, and in which words."""

from __future__ import annotations

import time
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from support import GivenScores

from recrawl.checks import sample_pages
from recrawl.checks.sample import SampleHistory
from recrawl.cli import common
from recrawl.errors import BadInput
from recrawl.model import DAY, FAILURES, Budget
from recrawl.planner.explain import explain
from recrawl.planner.plan import (
    DISCOVERED,
    EXPLORED,
    OVERDUE,
    PINNED,
    SCORED,
    Candidates,
    describe,
    due,
    fetches,
    plan,
)
from recrawl.planner.rules import RuleColumns
from recrawl.random import random_bits

NOW = 1_800_000_000.0
HOUR = 3600.0


def pages(n, **columns):
    """Pages seen an hour ago, all on one host."""
    seen = np.full(n, NOW - HOUR)
    known = {
        "page_id": np.arange(n),
        "host": np.zeros(n, np.int64),
        "failures": np.zeros(n, np.int64),
        "failure": np.ones(n, np.int64),
        "n_visits": np.full(n, 2),
        "last_visit": seen,
        "last_attempt": seen,
    }
    return replace(sample_pages(0, max(n, 30)).take(np.arange(n)), **(known | columns))


def rules(n, **columns):
    none = np.zeros(n, np.bool_)
    free = RuleColumns(none, none, np.zeros(n), np.full(n, np.inf), np.ones(n))
    return replace(free, **columns)


def candidates(score, budget, **columns):
    n, rule = len(score), columns.pop("rules", rules(len(score)))
    return Candidates(
        pages=pages(n, **columns),
        policy=GivenScores(score),
        score=np.asarray(score, float),
        answers=np.ones(n),
        ties=np.arange(n, dtype=np.uint64),
        rules=rule,
        eligible=np.ones(n, np.bool_),
        fetches=fetches(budget, n),
        budget=budget,
        now=NOW,
    )


def chosen(*arguments, **columns):
    rows, why = candidates(*arguments, **columns).choose()
    return list(zip(rows.tolist(), why.tolist(), strict=True))


@pytest.mark.parametrize(
    ("budget", "n", "known"),
    [
        (Budget(share=0.05), 100, 5),
        (Budget(share=0.29), 100, 29),  # in floating point a little less than 29
        (Budget(share=0.299), 100, 29),
        (Budget(share=0.001), 10, 1),
        (Budget(share=0.0), 10, 0),
        (Budget(share=0.5), 0, 0),
        (Budget(share=1.0), 7, 7),
        (Budget(fetches=7), 5, 5),
        (Budget(fetches=3), 5, 3),
        (Budget(fetches=0), 5, 0),
        (Budget(), 5, 5),
    ],
)
def test_how_many_fetches_a_budget_allows(budget, n, known):
    assert fetches(budget, n) == known


def test_when_a_page_is_due():
    """A failing page waits an hour over the chance that it is back: 5 % for one that is missing."""
    failures = np.array([0, 1, 3, 2_000_000, 0, 1, 1])
    attempt = np.full(7, NOW)
    attempt[6] = np.nan
    least = np.zeros(7)
    least[4:6] = 1.5 * HOUR, 22 * HOUR
    hours = [-np.inf, 20, 40, 720, 1.5, 22, -np.inf]
    some = pages(7, failures=failures, last_attempt=attempt)
    np.testing.assert_allclose(
        due(some, rules(7, min_interval=least)), NOW + np.array(hours) * HOUR
    )
    assert (due(pages(3), rules(3)) == -np.inf).all()
    early = due(pages(2, last_attempt=np.full(2, NOW)), rules(2, min_interval=np.array([0, 60.0])))
    assert early.tolist() == [-np.inf, NOW + 60.0]


def test_pinned_overdue_scored_and_explored_pages_in_turn():
    """10 fetches, 2 of them explored; pages 3 and 4 were seen 9 and 8 hours ago."""
    seen = np.full(12, NOW - HOUR)
    seen[[3, 4]] = NOW - 9 * HOUR, NOW - 8 * HOUR
    pin = np.arange(12) == 0
    longest = np.where(np.arange(12) == 1, HOUR, np.inf)  # seen exactly an hour ago
    score = np.array([0, 0, 0, -2, -1, 8, 9, 7, 6, 5, 4, 3])
    found = chosen(
        score,
        Budget(fetches=8, explore=0.25),
        rules=rules(12, pin=pin, max_interval=longest),
        last_visit=seen,
    )
    assert found == [
        (0, PINNED),
        (1, OVERDUE),
        *((row, SCORED) for row in (6, 5, 7, 8, 9, 10)),
    ], "6 of 8 are scored at most; pinned and overdue pages come out of the explored ones"
    found = chosen(score, Budget(fetches=8, explore=0.25), last_visit=seen)
    assert found == [
        *((row, SCORED) for row in (6, 5, 7, 8, 9, 10)),
        (3, EXPLORED),
        (4, EXPLORED),
    ]


def test_a_page_an_instant_before_it_is_overdue_waits_for_its_score():
    longest = np.array([HOUR + 1.0, np.inf, HOUR])
    found = chosen([0, 5, 1], Budget(fetches=2), rules=rules(3, max_interval=longest))
    assert found == [(2, OVERDUE), (1, SCORED)]


def test_new_pages_get_their_share_and_what_known_ones_leave():
    visits = np.array([0, 0, 0, 0, 2, 2, 2, 2])
    score = np.arange(8)
    found = chosen(score, Budget(fetches=4, discover=0.5), n_visits=visits)
    assert found == [(3, DISCOVERED), (2, DISCOVERED), (7, SCORED), (6, SCORED)]
    found = chosen(score, Budget(fetches=7, discover=0.0), n_visits=visits)
    assert found == [
        *((row, SCORED) for row in (7, 6, 5, 4)),
        *((row, DISCOVERED) for row in (3, 2, 1)),
    ]
    found = chosen(score, Budget(fetches=3), n_visits=visits)
    assert found == [(7, SCORED), (6, SCORED), (5, SCORED)], "all alike without a share"


def test_bytes_and_seconds_are_both_kept_to():
    """In order: 6 of 10 bytes; too many seconds; too many bytes; the rest of both; nothing left."""
    found = chosen(
        [9, 8, 7, 6, 5],
        Budget(bytes=10.0, seconds=3.0),
        bytes=np.array([6.0, 1.0, 5.0, 4.0, 1.0]),
        seconds=np.array([1.0, 2.5, 1.0, 2.0, 0.0]),
    )
    assert [row for row, _ in found] == [0, 3]


def test_unknown_and_negative_costs_count_as_the_mean_of_the_others():
    # (4.5 + 4 + 1.5) / 3 = 10/3; with 4.5 or 4 that is more than 7, with 1.5 it is not
    found = chosen(
        [9, 8, 7, 6],
        Budget(bytes=7.0),
        bytes=np.array([np.nan, 4.5, 4.0, 1.5]),
        seconds=np.full(4, np.nan),
    )
    assert [row for row, _ in found] == [0, 3]
    found = chosen(
        [9, 8, 7], Budget(bytes=7.0), bytes=np.array([-1.0, 2.0, 4.0]), seconds=np.full(3, np.nan)
    )
    assert [row for row, _ in found] == [0, 1], "3 + 2, and 2 left"


def test_the_smaller_of_two_caps_binds():
    """600 s between visits: 3 in half an hour."""
    many = [9, 8, 7, 6, 5]
    assert len(chosen(many, Budget(host_delay=600.0, every=1800.0))) == 3
    assert len(chosen(many, Budget(host_delay=600.0, every=1800.0, host_cap=2))) == 2
    assert len(chosen(many, Budget(host_delay=600.0, every=1799.0, host_cap=4))) == 2
    found = chosen(many, Budget(host_cap=1), host=np.array([0, 0, 1, 2, 1]))
    assert [row for row, _ in found] == [0, 2, 3]


def test_bytes_and_caps_together():
    found = chosen(
        [9, 8, 7, 6, 5],
        Budget(bytes=4.0, host_cap=1),
        host=np.array([0, 0, 1, 1, 2]),
        bytes=np.array([2.0, 1.0, 3.0, 1.0, 1.0]),
        seconds=np.full(5, np.nan),
    )
    assert [row for row, _ in found] == [0, 3, 4], "1: its host is full; 2: 3 bytes of 2"


@pytest.mark.parametrize("quota", [1, 7, 40])
@pytest.mark.parametrize("cap", [1, 3, 50])
def test_many_pages_within_caps_against_one_by_one(quota, cap):
    rng = np.random.default_rng(cap)
    n = 2_000
    score, host = rng.integers(0, 30, n) / 7, rng.integers(0, 60, n) ** 2 // 60
    ties = random_bits(np.arange(n, dtype=np.uint64), cap)
    many = candidates(score, Budget(fetches=quota, host_cap=cap), host=host)
    found = replace(many, ties=ties).choose()[0]
    left, expected = np.full(60, cap), []
    for row in np.lexsort((ties, -score)):
        if left[host[row]] and len(expected) < quota:
            left[host[row]] -= 1
            expected.append(row)
    assert found.tolist() == expected


@pytest.mark.parametrize("quota", [1, 10, 1_999, 2_000, 3_000])
def test_the_best_of_many_pages_against_a_sort(quota):
    rng = np.random.default_rng(quota)
    score = rng.integers(0, 30, 2_000) / 7
    ties = random_bits(np.arange(2_000, dtype=np.uint64), quota)
    found = replace(candidates(score, Budget(fetches=quota)), ties=ties).choose()[0]
    assert found.tolist() == np.lexsort((ties, -score))[:quota].tolist()


def test_a_history_in_words():
    some = pages(
        7,
        n_compared=np.array([10, 3, 0, 0, 0, 1, 2]),
        n_changes=np.array([4, 0, 0, 0, 0, 1, 1]),
        exposure=np.array([20.0, 6.0, 0.0, 0.0, 0.0, 2.0, 4.0]),
        failures=np.array([0, 2, 0, 0, 3, 0, 1]),
        last_visit=NOW - np.array([2.0, 3.0, 1.0, np.nan, np.nan, 1.0, 1.0]) * DAY,
        first_seen=NOW - np.array([9.0, 9.0, 9.0, 5.0, 6.0, 9.0, 9.0]) * DAY,
    )
    assert [describe(some, row, NOW) for row in range(7)] == [
        "changed 4 of 10 times in 20 d; seen 2.0 d ago",
        "unchanged 3 times in 6.0 d; seen 3.0 d ago; failed 2 times since: not found (404)",
        "never compared; seen 24 h ago",
        "never visited; known for 5.0 d",
        "never reached; known for 6.0 d; failed 3 times since: not found (404)",
        "changed 1 of 1 time in 2.0 d; seen 24 h ago",
        "changed 1 of 2 times in 4.0 d; seen 24 h ago; failed 1 time since: not found (404)",
    ]


def test_rows_of_a_plan_and_its_head():
    some = pages(4, last_visit=np.array([NOW - DAY, np.nan, NOW, NOW]), n_visits=np.full(4, 1))
    made = plan(SampleHistory(some), Budget(fetches=3), now=NOW, policy=GivenScores([1, 4, 2, 3]))
    rows = list(made.records())
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert [row["score"] for row in rows] == [4.0, 3.0, 2.0]
    assert rows[0]["last_visit"] is None
    assert rows[1]["last_visit"].startswith("2027-01-15")
    head = made.head(2)
    assert (len(head), head.pages.page_id.tolist()) == (2, [1, 3])
    assert (head.score.tolist(), len(head.p_change), len(head.why)) == ([4.0, 3.0], 2, 2)
    assert len(made.head(9)) == 3


def test_a_plan_for_a_time_up_to_a_day_before_the_last_visit_is_made_for_that_visit():
    some = pages(2, last_attempt=np.array([NOW, NOW - DAY]))
    made = plan(SampleHistory(some), 1, now=NOW - DAY, policy=GivenScores([1, 2]))
    assert made.now == NOW
    assert plan(SampleHistory(some), 1, now=NOW + 5, policy=GivenScores([1, 2])).now == NOW + 5


def test_p_change_is_that_of_the_smoothed_rate():
    """1 − e^{−λt}: λ = (1 + ½) / (1 + ½) a day, for 2 days."""
    some = pages(
        1,
        n_changes=np.array([1]),
        exposure=np.array([1.0]),
        last_visit=np.array([NOW - 2 * DAY]),
    )
    made = plan(SampleHistory(some), 1, now=NOW, policy=GivenScores([1]))
    assert made.p_change[0] == pytest.approx(1 - np.exp(-2.0))


def test_equal_scores_go_by_a_draw_with_the_seed_or_by_id():
    some = pages(9)
    for seed in (0, 3):
        made = plan(SampleHistory(some), 9, now=NOW, policy=GivenScores(np.ones(9)), seed=seed)
        assert made.pages.page_id.tolist() == np.argsort(random_bits(some.key, seed)).tolist()
    made = plan(SampleHistory(some), 4, now=NOW, policy=GivenScores(np.ones(9)), ties="id")
    assert made.pages.page_id.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "budget",
    [
        Budget(fetches=-1),
        Budget(share=1.01),
        Budget(explore=1.5),
        Budget(discover=-0.1),
        Budget(seconds=np.inf),
        Budget(fetches="9"),
        Budget(fetches=1, share=0.1),
    ],
)
def test_budgets_without_sense_are_refused(budget):
    with pytest.raises(BadInput, match="Budget"):
        fetches(budget, 10)


def test_how_long_a_page_would_have_to_wait():
    """By age: the best is 5 days old; one was seen a day ago, one is known for 2 days."""
    some = pages(
        3,
        last_visit=np.array([NOW - 5 * DAY, np.nan, NOW - DAY]),
        first_seen=np.array([NOW - 9 * DAY, NOW - 2 * DAY, NOW - 9 * DAY]),
    )
    asked = {"budget": Budget(fetches=1), "now": NOW, "policy": "oldest"}
    best, unseen, seen = (explain(SampleHistory(some), page, **asked) for page in range(3))
    assert (best.rank, unseen.rank, seen.rank, seen.of) == (1, 2, 3, 3)
    assert (best.picked, unseen.picked, seen.picked) == (True, False, False)
    assert best.verdict == "It is in the plan."
    assert "after another 3.0 d unseen" in unseen.verdict
    assert "with a budget of 2 fetches" in unseen.verdict
    assert "after another 4.0 d unseen" in seen.verdict
    assert "with a budget of 3 fetches" in seen.verdict


def test_what_keeps_a_page_out_of_the_plan():
    some = pages(
        4,
        failures=np.array([0, 0, 1, 0]),
        host=np.array([0, 0, 0, 1]),
        last_visit=NOW - np.array([9.0, 8.0, 7.0, 6.0]) * DAY,
        last_attempt=np.array([NOW - DAY, NOW - DAY, NOW - 60, NOW - DAY]),
        bytes=np.full(4, 10.0),
    )

    def verdict(page, budget):
        return explain(SampleHistory(some), page, budget, now=NOW, policy="oldest").verdict

    assert "because its visits fail" in verdict(2, Budget(fetches=3))
    assert "the bytes or the time" in verdict(1, Budget(bytes=10.0))
    capped = verdict(1, Budget(fetches=3, host_cap=1))
    assert "use up the host's cap" in capped
    assert "after another 24 h unseen" in capped or "1.0 d" in capped
    assert "leaves nothing" in verdict(1, Budget(fetches=0))


def test_a_page_that_loses_without_caps_too_is_not_kept_out_by_a_cap():
    """Of two fetches one is a retry, so there are fewer scored pages than fetches."""
    some = pages(
        4,
        failures=np.array([3, 0, 0, 0]),
        failure=np.full(4, FAILURES.index("server error")),
        host=np.array([0, 1, 2, 2]),
        last_visit=NOW - np.array([90.0, 8.0, 7.0, 6.0]) * DAY,
        last_attempt=NOW - np.array([80.0, 8.0, 7.0, 6.0]) * DAY,
    )
    budget = Budget(fetches=2, host_cap=1, retry=1.0)
    third, last = (
        explain(SampleHistory(some), page, budget, now=NOW, policy="oldest").verdict
        for page in (2, 3)
    )
    assert third.startswith("It would be picked after another")
    assert last.startswith("It would be picked after another")


@pytest.mark.parametrize(("is_terminal", "said"), [(True, 1), (False, 0)])
def test_a_slow_command_says_on_a_terminal_what_is_going_on(monkeypatch, is_terminal, said):
    screen = StringIO()
    monkeypatch.setattr(common, "err", Console(file=screen, force_terminal=is_terminal))
    monkeypatch.setattr(common, "SLOW_SECONDS", 0.0)
    with common.said_if_slow():
        deadline = time.monotonic() + 5
        while is_terminal and not screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.001)
    assert screen.getvalue().count("Learning from the visits.") == said
    monkeypatch.setattr(common, "SLOW_SECONDS", 60.0)
    with common.said_if_slow():
        pass
    assert screen.getvalue().count("Learning from the visits.") == said
