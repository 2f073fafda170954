"""Policies that learn from content and related pages, on worlds whose truth is known."""

from __future__ import annotations

import pickle
from dataclasses import replace

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
from recrawl.papers.radinsky.learners.page_svms import fit_page_svms
from recrawl.papers.radinsky.live.past_examples import PastExamples
from recrawl.papers.radinsky.live.visit_log import VisitLog
from recrawl.papers.radinsky.policies.coin import Coin
from recrawl.papers.radinsky.policies.content import Content
from recrawl.papers.radinsky.policies.experts import Experts
from recrawl.papers.radinsky.pooled import boosted_probability
from recrawl.registry import make

WORLD, SIZE = (
    make("world", "leaders:mean=0.06,shape=0.7"),
    {"pages": 80, "days": 45, "seed": 4},
)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return read_trace(write(WORLD.make(**SIZE), tmp_path_factory.mktemp("world") / "leaders"))


@pytest.fixture(scope="module")
def uneven(tmp_path_factory):
    """A world in which most pages hardly ever change, and some all the time."""
    made = make("world", "leaders:mean=0.3,shape=0.2").make(pages=80, days=60, seed=4)
    return read_trace(write(made, tmp_path_factory.mktemp("world") / "uneven"))


@pytest.mark.parametrize(
    ("policy", "times"),
    [
        ("content", 2.5),
        ("experts", 2.5),
        ("coin", 1.8),
        ("coin:by=content", 1.8),
        ("coin:by=experts", 1.8),
        ("coin:by=mean-experts", 1.8),
    ],
)
def test_policies_find_more_changes_than_random(policy, times, uneven):
    cycles = replay(uneven, policy, Budget(share=0.2))
    baseline = replay(uneven, "random", Budget(share=0.2))
    ratio, random = (summary(daily(uneven, c))["change_ratio"] for c in (cycles, baseline))
    assert ratio > times * random
    p, _ = claims(uneven, cycles)
    assert ((p >= 0) & (p <= 1)).all()


def train(policy, trace, cycles=30, share=0.3):
    """Let a policy learn from daily visits to a share of the pages; the history, and the time."""
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
def test_learned_scores(kind, trace):
    policy = kind(teach_days=5.0)
    history, now = train(policy, trace)
    pages = history.pages()
    score = policy.score(pages, now)
    assert ((score >= 0) & (score <= 1)).all()
    order = np.random.default_rng(1).permutation(len(pages))
    np.testing.assert_allclose(policy.score(pages.take(order), now), score[order])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(policy)).score(pages, now), score)
    later = policy.score(pages, now + 5 * DAY)
    assert (later >= score - 1e-12).all()  # the longer not visited, the more likely a change
    assert (
        policy.score(pages, now + 9_999 * DAY) > 0.9
    ).all()  # so every page is visited in the end
    rows, yes, _ = policy.examples_
    assert len(rows) == pages.n_compared.sum()
    assert yes.sum() == pages.n_changes.sum()


def test_experts_are_of_the_same_topic(trace):
    policy = Experts(k=4)
    train(policy, trace)
    topic = make("world", "leaders:mean=0.06,shape=0.7").make(pages=80, days=40, seed=4)
    topic = topic.truth["topic"][
        np.argsort(MemoryHistory(trace.urls, make("detector", "digest"), seen=0.0).pages().key)
    ]
    row = policy.selection_.experts.row
    assert (topic[row] == topic[:, None])[row >= 0].mean() > 0.8


def test_pages_without_texts_and_new_pages():
    policy = Experts(learner="svm")
    pages = sample_pages()
    some = pages.take(np.arange(0, 200, 2))
    policy.learn(SampleHistory(some), some, NOW)
    score = policy.score(some, NOW + DAY)
    policy.learn(SampleHistory(pages), pages, NOW + DAY)
    np.testing.assert_array_equal(policy.score(some, NOW + DAY), score)  # new pages change nothing
    assert np.isfinite(policy.score(pages, NOW + DAY)).all()


def test_the_visit_log_keeps_its_rows_when_pages_are_added_or_dropped():
    none = np.empty(0)
    past = Intervals(np.zeros(4, int), none, none > 0, *(none for _ in range(5)))
    pages = build_pages(past, np.array([1.0, 1.0, 1.0]))
    text = {0: "a a b", 1: "b", 2: ""}

    class Copies:
        def texts(self, page_id, characters=None):
            return pa.array([text[page] for page in page_id.tolist()], pa.large_string())

    def visit(rows, at):
        now = replace(pages.take(rows), source=Copies())
        now = replace(now, last_visit=np.full(len(now), at), last_change=np.full(len(now), at))
        now = log.align(now)
        log.record(now, log.visited(now))

    log = VisitLog()
    visit(np.array([0]), 1.0)
    visit(np.array([2, 0, 1]), 2.0)
    text[0] = "b b b"
    visit(np.array([1, 2, 0]), 3.0)
    place = np.argsort(np.argsort(pages.key))
    snapshots = log.snapshots()
    assert snapshots.copy.shape == (3, 3)
    assert (snapshots.copy[place[1:], 0] == -1).all()
    distance = log.columns["distance"][place].tolist()
    assert distance == pytest.approx([np.sqrt(8) / 3, 0.0, np.nan], nan_ok=True)
    assert log.columns["distance_before"][place[0]] == 0.0
    visit(np.array([1, 0]), 4.0)  # page 2 is gone, with its two visits
    n_visits = np.diff(log.past_visits().start)
    assert n_visits[np.argsort(np.argsort(pages.key[:2]))].tolist() == [4, 3]
    assert (log.snapshots().copy >= 0).sum() == 4 + 3


def test_the_coin_takes_pages_by_their_probability():
    pages = sample_pages(n=4_000)
    pages = pages.take(np.flatnonzero(pages.n_compared > 3))
    p = (pages.n_changes + 0.5) / (pages.n_compared + 1.0)
    first = np.mean([Coin(seed=s).score(pages, NOW) > -1.0 for s in range(0, 60, 2)], axis=0)
    for low, high in ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0)):
        some = (p >= low) & (p < high)
        assert first[some].mean() == pytest.approx(p[some].mean(), abs=0.01)


def test_wrong_arguments_are_named():
    history = SampleHistory(sample_pages())
    with pytest.raises(
        BadInput, match=r"by must be one of frequency, content, experts, mean-experts. Got 'x'"
    ):
        Coin(by="x").learn(history, history.pages(), NOW)
    with pytest.raises(BadInput, match=r"learner must be one of boosting, svm. Got 'x'"):
        Content(learner="x").learn(history, history.pages(), NOW)


def test_page_svms_and_boosting_learn_a_simple_rule():
    random = np.random.default_rng(3)
    rows = random.normal(size=(600, 3))
    page = np.arange(600) % 10
    yes = rows[:, 0] > 0.3
    rows[:, 2] = np.nan
    svms = fit_page_svms(rows, yes, page)
    asked, same_page = np.array([[2.0, 0, np.nan], [-2.0, 0, np.nan]]), np.array([3, 3])
    for high, low in (boosted_probability(rows, yes, asked), svms(asked, same_page)):
        assert high > 0.8
        assert low < 0.2
    outside = np.array([[99.0, 0, np.nan], [rows[page == 3, 0].max(), 0, np.nan]])
    assert len(set(svms(outside, same_page))) == 1  # no extrapolation
    few = fit_page_svms(rows[:4], yes[:4], page[:4])
    assert few(asked, np.array([0, 40])).tolist() == [(yes[0] + 0.5) / 2, 0.5]
    never = boosted_probability(rows, np.zeros(600, bool), asked)
    assert never == pytest.approx([0.5 / 601] * 2)


def test_past_examples_equal_those_recorded_visit_by_visit(trace):
    one, other = Experts(k=3), Content()
    history, now = train(one, trace)
    other.learn(history, history.pages(), now)
    rows, yes, page = other.examples_
    recorded, _, its_page = one.examples_
    order, its_order = np.lexsort((rows[:, 3], page)), np.lexsort((recorded[:, 3], its_page))
    np.testing.assert_allclose(rows[order][:, :7], recorded[its_order][:, :7])
    assert yes.sum() == history.pages().n_changes.sum()
    known = past(other.log_.align(history.pages()))
    asked = np.arange(len(known.page))[:, None] * 0 + np.array([[0, 5]])
    for changed in (False, True):
        visited = PastExamples(known).visited(asked, changed=changed)
        for i in (0, 77, len(asked) - 1):
            begin = known.at[i] - known.days[i] * DAY
            for column, expert in enumerate((0, 5)):
                inside = (known.page == expert) & (known.at > begin) & (known.at < known.at[i])
                if changed:
                    inside &= known.changed
                assert visited[i, column] == inside.any()
