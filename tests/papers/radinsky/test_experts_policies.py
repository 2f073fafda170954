"""Policies that learn from content and related pages, on worlds whose truth is known."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from recrawl.checks.sample import NOW, SampleHistory, build_pages, sample_pages
from recrawl.errors import BadInput
from recrawl.history.intervals import past
from recrawl.history.memory import MemoryHistory
from recrawl.lab.metrics import claims, daily, summary
from recrawl.lab.replay import TraceEngine, replay
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write
from recrawl.model import DAY, Budget, Intervals
from recrawl.papers.radinsky.before import Before
from recrawl.papers.radinsky.boosting import boosting
from recrawl.papers.radinsky.learners.page_svms import machines
from recrawl.papers.radinsky.live.visit_log import Diary
from recrawl.papers.radinsky.policies.coin import Coin
from recrawl.papers.radinsky.policies.content import Content
from recrawl.papers.radinsky.policies.experts import Experts
from recrawl.registry import make

WORLD, SIZE = (
    make("world", "leaders:mean=0.06,shape=0.7"),
    {"pages": 80, "days": 45, "seed": 4},
)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return read_trace(write(WORLD.make(**SIZE), tmp_path_factory.mktemp("world") / "leaders"))


@pytest.mark.parametrize("policy", ["content", "experts", "coin:by=experts"])
def test_policies_find_more_than_chance(policy, trace):
    cycles = replay(trace, policy, Budget(share=0.1))
    chance = replay(trace, "random", Budget(share=0.1))
    found, by_chance = (summary(daily(trace, c))["change_ratio"] for c in (cycles, chance))
    assert found > by_chance or policy.startswith("coin")  # which needs longer than this
    said, _ = claims(trace, cycles)
    assert ((said >= 0) & (said <= 1)).all()


def taught(trace, policy, cycles=30, share=0.3):
    """A policy that was told of visits to some of the pages in each of so many days."""
    engine = TraceEngine(trace)
    start = trace.window[0]
    history = MemoryHistory(trace.urls, make("detector", "digest"), seen=start, copies=trace)
    random = np.random.default_rng(0)
    for day in range(cycles):
        visited = np.flatnonzero((day < 2) | (random.random(len(trace)) < share))
        history.append(engine.visits(visited, start + day * DAY), now=start + day * DAY)
        policy.learn(history, history.pages(), start + day * DAY + 60)
    return history, start + cycles * DAY


@pytest.mark.parametrize("kind", [Content, Experts])
def test_what_was_learned(kind, trace):
    policy = kind(teach_days=5.0)
    history, now = taught(trace, policy)
    pages = history.pages()
    score = policy.score(pages, now)
    assert ((score >= 0) & (score <= 1)).all()
    order = np.random.default_rng(1).permutation(len(pages))
    np.testing.assert_allclose(policy.score(pages.take(order), now), score[order])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(policy)).score(pages, now), score)
    later = policy.score(pages, now + 5 * DAY)
    assert (later >= score - 1e-12).all()  # the longer unseen, the more likely a change
    assert (policy.score(pages, now + 9_999 * DAY) > 0.9).all()  # so that none is left for ever
    rows, yes, _ = policy.examples_
    assert len(rows) == pages.n_compared.sum()
    assert yes.sum() == pages.n_changes.sum()


def test_experts_are_of_the_same_topic(trace):
    policy = Experts(k=4)
    taught(trace, policy)
    topic = make("world", "leaders:mean=0.06,shape=0.7").make(pages=80, days=40, seed=4)
    topic = topic.truth["topic"][
        np.argsort(MemoryHistory(trace.urls, make("detector", "digest"), seen=0.0).pages().key)
    ]
    near = policy.near_[1]
    there = near.row >= 0
    assert (topic[near.row] == topic[:, None])[there].mean() > 0.8


def test_pages_without_texts_and_new_pages():
    policy = Experts(learner="svm")
    pages = sample_pages()
    some = pages.take(np.arange(0, 200, 2))
    policy.learn(SampleHistory(some), some, NOW)
    score = policy.score(some, NOW + DAY)
    policy.learn(SampleHistory(pages), pages, NOW + DAY)
    np.testing.assert_array_equal(policy.score(some, NOW + DAY), score)  # whoever else has come
    assert np.isfinite(policy.score(pages, NOW + DAY)).all()


def test_the_diary_keeps_what_it_knows_of_pages_when_others_come():
    none = np.empty(0)
    past = Intervals(np.zeros(4, int), none, none > 0, *(none for _ in range(5)))
    pages = build_pages(past, np.array([1.0, 1.0, 1.0]))
    said = {0: "a a b", 1: "b", 2: ""}

    class Examples:
        def texts(self, page_id, characters=None):
            return pa.array([said[page] for page in page_id.tolist()], pa.large_string())

    def noted(diary, rows, at):
        from dataclasses import replace

        now = replace(pages.take(rows), source=Examples())
        now = replace(now, last_visit=np.full(len(now), at), last_change=np.full(len(now), at))
        now = diary.align(now)
        diary.note(now, diary.visited(now))

    diary = Diary()
    noted(diary, np.array([0]), 1.0)
    noted(diary, np.array([2, 0, 1]), 2.0)
    said[0] = "b b b"
    noted(diary, np.array([1, 2, 0]), 3.0)
    place = np.argsort(np.argsort(pages.key))
    shown = diary.snapshots()
    assert shown.copy.shape == (3, 3)
    assert (shown.copy[place[1:], 0] == -1).all()
    assert diary.notes["moved"][place].tolist() == pytest.approx(
        [np.sqrt(8) / 3, 0.0, np.nan], nan_ok=True
    )
    assert diary.notes["moved_before"][place[0]] == 0.0


def test_a_coin_takes_pages_by_their_chance():
    pages = sample_pages(n=4_000)
    pages = pages.take(np.flatnonzero(pages.n_compared > 3))
    p = (pages.n_changes + 0.5) / (pages.n_compared + 1.0)
    first = np.mean([Coin(seed=s).score(pages, NOW) > -1.0 for s in range(0, 60, 2)], axis=0)
    for low, high in ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0)):
        some = (p >= low) & (p < high)
        assert first[some].mean() == pytest.approx(p[some].mean(), abs=0.01)


def test_wrong_arguments_are_named():
    history = SampleHistory(sample_pages())
    with pytest.raises(BadInput, match=r"by must be one of frequency, content, experts. Got 'x'"):
        Coin(by="x").learn(history, history.pages(), NOW)
    with pytest.raises(BadInput, match=r"learner must be one of boosting, svm. Got 'x'"):
        Content(learner="x").learn(history, history.pages(), NOW)


def test_machines_and_boosting_know_a_simple_rule():
    random = np.random.default_rng(3)
    rows = random.normal(size=(600, 3))
    page = np.arange(600) % 10
    yes = rows[:, 0] > 0.3
    rows[:, 2] = np.nan
    asked = np.array([[2.0, 0, np.nan], [-2.0, 0, np.nan]])
    for chance in (boosting(rows, yes), lambda r: machines(rows, yes, page)(r, np.array([3, 3]))):
        high, low = chance(asked)
        assert high > 0.8
        assert low < 0.2
    far = np.array([[99.0, 0, np.nan], [rows[page == 3, 0].max(), 0, np.nan]])
    assert len(set(machines(rows, yes, page)(far, np.array([3, 3])))) == 1  # nobody knows beyond
    few = machines(rows[:4], yes[:4], page[:4])
    assert few(asked, np.array([0, 40])).tolist() == [(yes[0] + 0.5) / 2, 0.5]
    assert boosting(rows, np.zeros(600, bool))(asked) == pytest.approx([0.5 / 601] * 2)


def test_what_was_known_before_visits_on_record(trace):
    """What a diary noted visit by visit is what the record says of them later."""
    one, other = Experts(k=3), Content()
    history, now = taught(trace, one)
    other.learn(history, history.pages(), now)
    rows, yes, page = other.examples_
    mine, _, theirs = one.examples_
    order, record = np.lexsort((mine[:, 3], theirs)), np.lexsort((rows[:, 3], page))
    np.testing.assert_allclose(rows[record][:, :7], mine[order][:, :7])
    assert yes.sum() == history.pages().n_changes.sum()
    known = past(other.diary_.align(history.pages()))
    before = Before(known)
    asked = np.arange(len(known.page))[:, None] * 0 + np.array([[0, 5]])
    for changed in (False, True):
        found = before.visited(asked, changed=changed)
        for i in (0, 77, len(asked) - 1):
            begin = known.at[i] - known.days[i] * DAY
            for column, expert in enumerate((0, 5)):
                inside = (known.page == expert) & (known.at > begin) & (known.at < known.at[i])
                if changed:
                    inside &= known.changed
                assert found[i, column] == inside.any()
