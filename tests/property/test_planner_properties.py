"""The plan against brute force: every choice of pages, every time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import GivenScores

from recrawl.checks import sample_pages
from recrawl.errors import BadInput
from recrawl.model import DAY, FAILURES, Budget
from recrawl.planner.plan import Plan, plan
from recrawl.planner.rules import Rule
from recrawl.random import random_bits

NOW = 1_800_000_000.0


class Past:
    """A history of pages on the hosts given."""

    def __init__(self, hosts, **columns):
        from dataclasses import replace

        n = len(hosts)
        pages = sample_pages(0, max(n, 30)).take(np.arange(n))
        healthy = {"failures": np.zeros(n, np.int64), "page_id": np.arange(n)}
        healthy |= {"n_visits": np.full(n, 2), "first_visit": np.full(n, NOW - 90 * DAY)}
        self._pages = replace(pages, host=np.array(hosts), **(healthy | columns))

    def signals(self):
        return None

    def models(self):
        return None

    def database(self):
        return None

    def pages(self):
        return self._pages


def ids(chosen: Plan) -> list[int]:
    return chosen.pages.page_id.tolist()


pages_and_scores = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([-1.0, 0.0, 0.5, 0.5, 1.0, 2.0, 3.0])),
    min_size=1,
    max_size=9,
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(rows=pages_and_scores, fetches=st.integers(0, 10), cap=st.integers(0, 3))
def test_no_choice_within_the_caps_is_better(rows, fetches, cap):
    hosts, score = [r[0] for r in rows], np.array([r[1] for r in rows])
    chosen = ids(
        plan(Past(hosts), Budget(fetches=fetches, host_cap=cap), now=NOW, policy=GivenScores(score))
    )
    assert len(set(chosen)) == len(chosen) <= fetches
    assert max(np.bincount(np.array(hosts)[chosen], minlength=1), default=0) <= cap

    def allowed(choice):
        return (
            max(np.bincount(np.array(hosts)[list(choice)], minlength=1)) <= cap if choice else True
        )

    every = combinations(range(len(rows)), len(chosen))
    best = max(sum(score[list(c)]) for c in every if allowed(c))
    assert np.isclose(sum(score[chosen]), best)
    more = (c for c in combinations(range(len(rows)), len(chosen) + 1) if allowed(c))
    assert len(chosen) == min(fetches, len(rows)) or not any(more), (
        "budget left although a page fits"
    )


@settings(max_examples=200, deadline=None)
@given(
    rows=pages_and_scores,
    fetches=st.integers(0, 10),
    cap=st.none() | st.integers(0, 3),
    seed=st.integers(0, 5),
)
def test_best_first_and_ties_by_the_seed_in_any_row_order(rows, fetches, cap, seed):
    hosts, score = [r[0] for r in rows], np.array([r[1] for r in rows])
    past = Past(hosts)
    budget = Budget(fetches=fetches, host_cap=cap)
    chosen = ids(plan(past, budget, now=NOW, policy=GivenScores(score), seed=seed))
    ties = random_bits(past.pages().key, seed)
    assert chosen == sorted(chosen, key=lambda i: (-score[i], ties[i]))
    shuffle = np.random.default_rng(seed).permutation(len(rows))
    past._pages = past._pages.take(shuffle)
    assert ids(plan(past, budget, now=NOW, policy=GivenScores(score[shuffle]), seed=seed)) == chosen


@settings(max_examples=100, deadline=None)
@given(
    size=st.lists(st.sampled_from([1.0, 5.0, np.nan]), min_size=1, max_size=12),
    limit=st.sampled_from([0.0, 3.0, 7.0]),
)
def test_byte_budget_is_never_exceeded_and_takes_what_fits(size, limit):
    size = [2.0, *size]
    past = Past([0] * len(size), bytes=np.array(size))
    score = np.arange(len(size), 0, -1.0)
    chosen = ids(plan(past, Budget(bytes=limit), now=NOW, policy=GivenScores(score)))
    known = [s for s in size if s == s]
    cost = [s if s == s else (np.mean(known) if known else 0.0) for s in size]
    left, expected = limit, []
    for i in range(len(size)):
        if cost[i] <= left:
            expected.append(i)
            left -= cost[i]
    assert chosen == expected


@settings(max_examples=100, deadline=None)
@given(n=st.integers(1, 30), explore=st.floats(0, 1), fetches=st.integers(0, 30))
def test_exploration_takes_its_share_from_the_oldest(n, explore, fetches):
    seen = NOW - np.random.default_rng(n).permutation(n) * 3600.0 - 1
    past = Past([0] * n, last_visit=seen, last_attempt=seen)
    chosen = plan(
        past, Budget(fetches=fetches, explore=explore), now=NOW, policy=GivenScores(np.zeros(n))
    )
    share = int(explore * min(fetches, n))
    assert len(chosen) == min(fetches, n)
    assert set(np.argsort(seen)[:share]) <= set(ids(chosen))


def test_a_bad_budget_is_refused():
    for budget in (
        Budget(bytes=5.0),
        Budget(share=1.5),
        Budget(fetches=-1),
        Budget(fetches=1, share=0.1),
        Budget(fetches=np.inf),
        Budget(host_cap=np.inf),
        Budget(every=np.inf, host_delay=np.inf),
    ):
        past = Past([0], bytes=np.array([np.nan]))
        with pytest.raises(BadInput, match="Budget"):
            plan(past, budget, now=NOW, policy=GivenScores([1.0]))


def test_a_plan_cannot_be_made_for_a_time_before_the_last_visit():
    past = Past([0], last_attempt=np.array([NOW]))
    for now in (NOW - 1.1 * DAY, np.nan, np.inf):
        with pytest.raises(BadInput, match="now must be"):
            plan(past, 1, now=now, policy=GivenScores([1.0]))
    assert (
        len(plan(past, 1, now=NOW - 60.0, policy=GivenScores([1.0]))) == 1
    )  # a clock was set back


def test_ties_by_id_are_the_lowest_ids():
    chosen = plan(Past([0] * 20), 5, now=NOW, policy=GivenScores(np.ones(20)), ties="id")
    assert ids(chosen) == [0, 1, 2, 3, 4]


def test_nan_scores_go_last():
    chosen = plan(Past([0] * 3), 3, now=NOW, policy=GivenScores([np.nan, 1.0, -np.inf]))
    assert ids(chosen)[0] == 1
    assert len(chosen) == 3


def test_rules_pin_never_intervals_and_weight():
    urls = [
        f"https://x.example/{name}"
        for name in ("pin", "never", "recent", "overdue", "heavy", "plain")
    ]
    n = len(urls)
    past = Past([0] * n, last_visit=np.full(n, NOW - 3600.0), last_attempt=np.full(n, NOW - 3600.0))

    class Named:
        def urls(self, page_id):
            return [urls[i] for i in page_id]

    from dataclasses import replace

    past._pages = replace(past._pages, source=Named())
    rules = [
        Rule("*/pin", pin=True),
        Rule("*/never", never=True),
        Rule("*/recent", min_interval=7200.0),
        Rule("*/overdue", max_interval=1800.0),
        Rule("*", weight=1.0),
        Rule("*/heavy", weight=10.0),
    ]
    chosen = plan(past, 10, now=NOW, policy=GivenScores([0, 9, 9, 0, 1, 5]), rules=rules)
    assert [u.rsplit("/", 1)[1] for u in chosen.urls()] == ["pin", "overdue", "heavy", "plain"]
    reasons = [r["reason"].split(";")[0] for r in chosen.records()]
    assert reasons[:2] == ["pinned", "overdue by rule"]


def test_failing_page_backs_off_and_comes_back():
    gone = np.array([FAILURES.index("not found (404)")])
    past = Past([0], failures=np.array([4]), failure=gone, last_attempt=np.array([NOW]))
    # 5 % of such pages return, after four failures two fifths of that: an hour over 2 %.
    assert len(plan(past, 1, now=NOW + 3600 * 49.9, policy=GivenScores([1.0]))) == 0
    assert len(plan(past, 1, now=NOW + 3600 * 50.1, policy=GivenScores([1.0]))) == 1
    past = Past([0], failures=np.array([2_000_000]), last_attempt=np.array([NOW]))
    assert len(plan(past, 1, now=NOW + 31 * 86_400, policy=GivenScores([1.0]))) == 1


def test_host_delay_bounds_what_fits_into_a_cycle():
    chosen = plan(
        Past([0] * 9 + [1]),
        Budget(host_delay=600, every=1800),
        now=NOW,
        policy=GivenScores(np.ones(10)),
    )
    assert sorted(np.bincount(chosen.pages.host)) == [1, 3]
