"""Failing pages by known answers: the chance of an answer, their share of a plan, fair hosts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import GivenScores

from recrawl.checks import sample_pages
from recrawl.checks.sample import SampleHistory
from recrawl.model import DAY, FAILURES, Budget
from recrawl.planner import Rule, explain, plan
from recrawl.planner.failing import answer_chances, retry_seconds
from recrawl.planner.plan import DISCOVERED, RETRIED, SCORED, expected

NOW = 1_800_000_000.0
MISSING, REFUSED, SERVER, TIMEOUT = (
    FAILURES.index(name) for name in ("not found (404)", "refused (4xx)", "server error", "timeout")
)


def pages(n, **columns):
    """Healthy pages seen an hour ago, all on one host."""
    seen = np.full(n, NOW - 3600.0)
    zeros = {name: np.zeros(n, np.int64) for name in ("host", "failures", "failure")}
    zeros |= {name: np.zeros(n, np.int64) for name in ("retries", "returns")}
    known = {"page_id": np.arange(n), "n_visits": np.full(n, 2), "first_visit": seen - 9 * DAY}
    known |= {"last_visit": seen, "last_attempt": seen}
    drawn = sample_pages(0, max(n, 30)).take(np.arange(n))
    return replace(drawn, **(known | zeros | {k: np.asarray(v) for k, v in columns.items()}))


def test_pages_that_never_failed_answer():
    assert answer_chances(pages(3), NOW).tolist() == [1.0, 1.0, 1.0]


def test_the_chance_of_a_return_by_hand():
    """Prior 5 % as 10 retries; of 20 retries 4 succeeded: 15 %; on the host 5 × 15 % and 0 of 5."""
    some = pages(
        3,
        host=[0, 1, 2],
        failures=[1, 3, 0],
        failure=[MISSING, MISSING, MISSING],
        retries=[5, 0, 15],
        returns=[0, 0, 4],
    )
    overall = (4 + 10 * 0.05) / (20 + 10)
    on_host = (0 + 5 * overall) / (5 + 5)
    found = answer_chances(some, NOW)
    np.testing.assert_allclose(found, [on_host, overall * 2 / (2 + 2), 1.0])
    np.testing.assert_allclose(retry_seconds(some), [3600 / found[0], 3600 / found[1], 0.0])


def test_each_reason_has_its_own_chance():
    some = pages(2, host=[0, 1], failures=[1, 1], failure=[MISSING, SERVER])
    missing, server = answer_chances(some, NOW)
    assert missing == pytest.approx(0.05)
    assert server == pytest.approx(0.5)


def test_new_pages_are_judged_by_the_visited_ones_of_their_host():
    """Three days ago host 0 had 4 dead pages of 5, host 1 none of 5; 5 and 11 are new."""
    first = np.full(12, NOW - 3 * DAY)
    visits = np.full(12, 1)
    first[[0, 1, 2, 3, 5, 11]] = np.nan
    visits[[5, 11]] = 0
    some = pages(
        12,
        host=[0] * 6 + [1] * 6,
        first_visit=first,
        n_visits=visits,
        last_attempt=np.full(12, NOW - 3 * DAY),
    )
    half = 0.5  # what a visit of three days ago counts
    overall = (6 * half + 2) / (10 * half + 2)
    chance = answer_chances(some, NOW)
    assert chance[5] == pytest.approx((1 * half + 2 * overall) / (5 * half + 2))
    assert chance[11] == pytest.approx((5 * half + 2 * overall) / (5 * half + 2))
    assert (chance[[0, 4, 6]] == 1.0).all()


def test_a_host_that_is_down_is_doubted_the_longer_it_lasts():
    """Host 0 failed for 4 days and rested for one; host 1 answered since."""
    seen = np.array([NOW - 9 * DAY] * 4 + [NOW - 9 * DAY, NOW - 60.0])
    tried = np.array([NOW - 5 * DAY, NOW - DAY, NOW - DAY, NOW - 9 * DAY, NOW - DAY, NOW - 60.0])
    some = pages(
        6,
        host=[0, 0, 0, 0, 1, 1],
        failures=[1, 1, 1, 0, 1, 0],
        failure=[TIMEOUT] * 6,
        last_visit=seen,
        last_attempt=tried,
    )
    doubt = 1 / (1 + 4)
    np.testing.assert_allclose(answer_chances(some, NOW), [0.4 * doubt] * 3 + [doubt, 0.4, 1.0])
    later = answer_chances(some, NOW + 15 * DAY)
    assert later[3] == pytest.approx(16 / (16 + 4)), "a rest makes its return likelier"
    missing = replace(some, failure=np.full(6, MISSING))
    assert answer_chances(missing, NOW)[3] == 1.0, "a missing page says nothing of its host"
    two = replace(some, failures=np.array([1, 1, 0, 0, 1, 0]))
    assert answer_chances(two, NOW)[3] == pytest.approx(doubt), "two pages are enough"
    single = replace(some, failures=np.array([1, 0, 0, 0, 1, 0]))
    assert answer_chances(single, NOW)[3] == 1.0, "nor does one page that timed out"


def test_an_unlikely_answer_lowers_good_and_bad_scores_alike():
    score, chance = np.array([2.0, -2.0, 0.0]), np.array([0.5, 0.5, 0.5])
    assert expected(score, chance).tolist() == [1.0, -4.0, 0.0]


def drawn(some, score, budget, **options):
    made = plan(SampleHistory(some), budget, now=NOW, policy=GivenScores(score), **options)
    return made.pages.page_id, made.why


def test_failing_pages_have_a_share_of_their_own():
    """Forty failing pages score highest; a tenth of the plan is theirs, the likeliest first."""
    n = 100
    failing = np.arange(n) < 40
    some = pages(
        n,
        failures=np.where(failing, np.where(np.arange(n) < 4, 1, 5), 0),
        failure=np.where(failing, REFUSED, 0),
        last_attempt=np.where(failing, NOW - 90 * DAY, NOW - 3600.0),
    )
    score = np.where(failing, 1000.0, 1.0)
    rows, why = drawn(some, score, Budget(fetches=40, retry=0.1))
    assert (why[:36] == SCORED).all()
    assert (why[36:] == RETRIED).all()
    assert sorted(rows[36:]) == [0, 1, 2, 3]
    assert (rows[:36] >= 40).all()


def test_pages_that_hardly_ever_return_get_a_third_of_the_share():
    some = pages(
        100,
        failures=np.where(np.arange(100) < 40, 9, 0),
        failure=np.full(100, MISSING),
        last_attempt=np.full(100, NOW - 90 * DAY),
    )
    _, why = drawn(some, np.ones(100), Budget(fetches=60, retry=0.2))
    assert (why == RETRIED).sum() == 4


def test_failing_pages_that_are_likely_back_compete_with_the_others():
    """A retry after an error of the server succeeds with 0.5, after a missing page with 0.05."""
    some = pages(
        4, failures=[1, 1, 0, 0], failure=[SERVER, MISSING, 0, 0],
        last_attempt=np.full(4, NOW - 90 * DAY),
    )  # fmt: skip
    rows, why = drawn(some, np.array([3.0, 30.0, 1.0, 2.0]), Budget(fetches=3, retry=0.0))
    assert (rows.tolist(), set(why)) == ([3, 0, 2], {SCORED})


def test_a_page_that_was_never_reached_is_doubted_also_after_an_error_of_its_host():
    """One in two of the new pages was reached; 40 errors of the server say nothing of theirs."""
    n = 82
    first = np.where(np.arange(n) < 40, NOW, np.nan)
    failing = np.arange(n) >= 40
    kind = np.where(np.arange(n) == 81, SERVER, MISSING) * failing
    some = pages(n, first_visit=first, last_visit=first, failures=failing, failure=kind)
    chance = answer_chances(some, NOW)
    assert 0.24 < chance[81] < 0.27
    assert 0.04 < chance[80] <= 0.05


def test_a_share_of_one_fetch_is_one_however_unlikely_a_return_is():
    failing = np.arange(100) < 40
    some = pages(
        100, failures=9 * failing, failure=np.full(100, MISSING),
        last_attempt=np.full(100, NOW - 90 * DAY),
    )  # fmt: skip
    for now in NOW + np.arange(20) * DAY:
        made = plan(SampleHistory(some), Budget(fetches=60, retry=0.02), now=float(now))
        assert (made.why == RETRIED).sum() == 1


def test_what_healthy_pages_leave_over_goes_to_failing_ones():
    some = pages(
        4, failures=[1, 1, 0, 0], failure=[MISSING] * 4, last_attempt=np.full(4, NOW - 90 * DAY)
    )
    rows, why = drawn(some, np.ones(4), Budget(fetches=4, retry=0.0))
    assert (sorted(rows), why.tolist()) == ([0, 1, 2, 3], [SCORED, SCORED, RETRIED, RETRIED])


def few_retries(last_attempt, now):
    """How many failing pages a plan of two fetches retries, of which 0.2 are for them."""
    some = pages(
        50,
        failures=np.arange(50) < 25,
        failure=np.full(50, REFUSED),
        last_attempt=np.full(50, last_attempt),
    )
    chosen = plan(SampleHistory(some), Budget(fetches=2, retry=0.1), now=now)
    return int((chosen.why == RETRIED).sum())


def test_a_share_of_few_fetches_is_right_on_average():
    retried = [few_retries(NOW - 90 * DAY + i, NOW) for i in range(300)]
    assert 0.12 < np.mean(retried) < 0.28


def test_two_plans_of_one_history_retry_as_many():
    for last in NOW - 90 * DAY + np.arange(20):
        assert len({few_retries(last, NOW + i) for i in range(5)}) == 1


def test_discovery_takes_less_where_new_pages_are_not_there():
    """Of 40 visited pages one in two was reached: half of the share for new pages is used."""
    n = 100
    first = np.where(np.arange(n) % 2 == 0, NOW, np.nan)
    visits = np.where(np.arange(n) < 40, 2, 0)
    some = pages(n, first_visit=np.where(visits > 0, first, np.nan), n_visits=visits)
    chance = answer_chances(some, NOW)[99]
    assert 0.5 < chance < 0.6
    _, why = drawn(some, np.ones(n), Budget(fetches=40, discover=0.5))
    assert abs((why == DISCOVERED).sum() - 20 * chance) <= 1


def test_no_host_takes_more_than_its_share_while_others_have_pages():
    """A host of 1,000 pages and 20 of 10, all scores alike but the large host's higher."""
    host = np.concatenate([np.zeros(1000, np.int64), 1 + np.repeat(np.arange(20), 10)])
    some = pages(1200, host=host)
    score = np.where(host == 0, 2.0, 1.0)
    rows, _ = drawn(some, score, Budget(fetches=500, host_share=0.8))
    assert (host[rows] == 0).sum() == 400
    rows, _ = drawn(some, score, Budget(fetches=1000, host_share=0.8))
    assert (host[rows] == 0).sum() == 800, "and small hosts get all they have"
    rows, _ = drawn(some, score, Budget(fetches=1200, host_share=0.5))
    assert len(rows) == 1200, "what others do not need goes to the large host after all"
    rows, _ = drawn(some, score, Budget(fetches=500))
    assert (host[rows] == 0).all()


def test_failing_and_explored_pages_have_their_turn_on_a_single_host():
    failing = np.arange(200) < 50
    some = pages(
        200,
        failures=failing.astype(int),
        failure=np.full(200, REFUSED),
        last_attempt=np.where(failing, NOW - 90 * DAY, NOW - 3600.0),
        last_visit=np.where(np.arange(200) > 190, NOW - DAY, NOW - 3600.0),
    )
    score = np.where(np.arange(200) > 190, 0.0, 1.0)
    budget = Budget(fetches=100, explore=0.05, retry=0.1, host_share=0.8)
    _, why = drawn(some, score, budget)
    assert np.bincount(why, minlength=6).tolist() == [0, 0, 0, 85, 5, 10]


def test_a_share_holds_over_all_stages():
    """New pages of the large host use up its share: the known ones wait for what others leave."""
    host = np.repeat([0, 0, 1], 20)
    some = pages(60, host=host, n_visits=np.repeat([0, 2, 2], 20))
    budget = Budget(fetches=20, discover=0.5, host_share=0.5)
    rows, why = drawn(some, np.ones(60), budget)
    assert np.bincount(host[rows]).tolist() == [10, 10]
    assert (host[rows[why == SCORED]] == 1).all()


def test_p_change_of_a_failing_page_counts_the_chance_of_an_answer():
    some = pages(2, failures=[1, 0], failure=[SERVER, 0], last_attempt=np.full(2, NOW - 90 * DAY))
    sure = replace(some, failures=np.zeros(2, np.int64))
    policy = GivenScores([2.0, 1.0])
    p, p_sure = (
        dict(zip(made.pages.page_id.tolist(), made.p_change.tolist(), strict=True))
        for made in (plan(SampleHistory(each), 2, now=NOW, policy=policy) for each in (some, sure))
    )
    assert p[0] == pytest.approx(0.5 * p_sure[0])
    assert p[1] == p_sure[1]


def test_pins_are_above_shares():
    host = np.repeat([0, 1], 50)
    rules = [Rule("https://example.org/*", pin=True)]
    rows, _ = drawn(
        pages(100, host=host), 1.0 - host, Budget(fetches=40, host_share=0.5), rules=rules
    )
    assert (host[rows] == 0).all()


def test_a_slow_host_gets_one_page_at_least():
    rows, _ = drawn(pages(3, seconds=[12.0] * 3), np.ones(3), Budget(host_delay=1.0, every=10.0))
    assert len(rows) == 1


def test_a_host_gets_no_more_than_its_delay_allows():
    some = pages(30, host=[0] * 10 + [1] * 10 + [2] * 10, seconds=[0.5] * 20 + [np.nan] * 10)
    budget = Budget(host_delay=1.0, every=6.0, host_delays={1: 2.5, 99: 9.0})
    rows, _ = drawn(some, np.ones(30), budget)
    assert np.bincount(some.host[rows]).tolist() == [4, 2, 6]


@pytest.mark.parametrize("budget", [3, Budget(fetches=7, discover=0.3, retry=0.3)])
def test_plan_and_explain_agree(budget):
    failing = np.array([True, False] * 10)
    some = pages(
        20,
        failures=np.where(failing, 2, 0),
        failure=np.where(failing, SERVER, 0),
        last_attempt=np.where(failing, NOW - 90 * DAY, NOW - 3600.0),
        n_visits=np.where(np.arange(20) == 3, 0, 2),
    )
    history, policy = SampleHistory(some), GivenScores(np.arange(20.0))
    made = plan(history, budget, now=NOW, policy=policy)
    ranks = {}
    for page in range(20):
        said = explain(history, page, budget, now=NOW, policy=policy)
        ranks[page] = said.rank
        if said.picked:
            record = next(r for r in made.records() if r["rank"] == said.rank)
            assert record["url"] == said.url
            assert record["reason"].endswith(said.history)
            assert record["p_change"] == pytest.approx(said.p_change)
            assert record["score"] == pytest.approx(said.score)
    assert sorted(ranks.values()) == list(range(1, 21))
