"""Staleness- and embarrassment-based refreshing with thresholds, on four pages by hand."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np
import pytest
from support import write_trace

from recrawl.history.memory import MemoryHistory
from recrawl.lab.replay import TraceEngine
from recrawl.lab.traces import open_trace
from recrawl.model import DAY
from recrawl.papers.pandey.data import prepare_study
from recrawl.papers.pandey.experiment import Trial, rival
from recrawl.registry import make
from recrawl.search.workload import build_workload

HEAD, TAIL = "cat b c d e f", "g h i j"
#: Each text has six runs of five words. Page 0 becomes another text: all of 12 runs are in one
#: text only. Page 1 keeps four of six: 4 of 8 runs, a half. Page 2 keeps five of six: 2 of 7.
#: Page 3 never changes.
TEXTS = [
    (f"{HEAD} {TAIL}", "cat q r s t u v w x y"),
    (f"{HEAD} {TAIL}", f"{HEAD} g h y z"),
    (f"{HEAD} {TAIL}", f"{HEAD} g h i z"),
    (f"{HEAD} {TAIL}", f"{HEAD} {TAIL}"),
]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """All pages are as at first on day 0, as later from day 4 on; there are ten days."""
    rows = [
        (f"https://a.example/{page}", day, 200, text, [])
        for page, both in enumerate(TEXTS)
        for day, text in zip((0, 4), both, strict=True)
    ]
    return open_trace(write_trace(tmp_path_factory.mktemp("web") / "trace", rows))


@dataclass(frozen=True)
class KeepingTrial(Trial):
    """A trial that keeps what it is asked."""

    kept: list = field(default_factory=list)

    @classmethod
    def like(cls, trial):
        return cls(**{one.name: getattr(trial, one.name) for one in fields(trial)})


class Asked(KeepingTrial):
    """Keeps what is asked of the allocation."""

    def by_allocation(self, rate, weight, refreshes):
        self.kept.append((rate, weight))
        return super().by_allocation(rate, weight, refreshes)


class Fetched(KeepingTrial):
    """Keeps how many pages each cycle refreshes."""

    def mean_quality(self, refreshed):
        self.kept.extend(len(refreshed(number)) for number in range(1, len(self.tested)))
        return super().mean_quality(refreshed)


@pytest.mark.parametrize(
    ("tau", "stale", "large"),
    [
        (0.2, [1, 1, 1, 0], [1, 1, 1, 0]),
        (0.4, [1, 1, 0, 0], [1, 1, 0, 0]),
        (0.5, [1, 0, 0, 0], [1, 1, 0, 0]),  # staleness: more than tau; embarrassment: at least
        (1.0, [0, 0, 0, 0], [1, 0, 0, 0]),
    ],
)
def test_thresholds_of_the_experiment(trace, tau, stale, large):
    study = prepare_study(trace, build_workload(["cat"], np.ones(1)), every=DAY)
    trial = Asked.like(Trial.of(study, "in-sample"))
    cycles = len(study.live) - 1
    once = np.log((cycles + 0.5) / (cycles - 1 + 0.5))  # Cho's rate of one change
    rival(trial, "staleness", tau, 1)
    rival(trial, "embarrassment", tau, 1)
    (rate, weight), (every, views) = trial.kept
    np.testing.assert_allclose(rate, np.array(stale) * once)
    assert weight.tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(every, np.array([1, 1, 1, 0]) * once)  # all changes, large or not
    # All pages tie at first for the one query, so page i has rank i + 1.
    rank = np.arange(1.0, 5.0) ** -1.5 * 0.382793
    np.testing.assert_allclose(views, np.array(large) * rank, rtol=1e-5)


def test_views_are_those_when_the_tested_cycles_begin(trace):
    """Only page 0 ever has "q", from day 4 on: the third of the cycles of two days."""
    study = prepare_study(trace, build_workload(["q"], np.ones(1)), every=2 * DAY)
    trial = Trial.of(study, "in-sample")
    late = replace(trial, tested=range(2, len(study.live)))
    early = replace(trial, tested=range(1, len(study.live)))
    assert early.views.tolist() == early.visibility.tolist() == [0, 0, 0, 0]
    assert (
        (late.views > 0).tolist() == (late.visibility > 0).tolist() == [True, False, False, False]
    )


def test_an_allocation_spends_its_refreshes(trace):
    """Two refreshes a cycle, on average."""
    study = prepare_study(trace, build_workload(["cat"], np.ones(1)), every=DAY)
    trial = Fetched.like(Trial.of(study, "in-sample"))
    trial.by_allocation(np.array([0.1, 0.2, 0.3, 0.4]), np.ones(4), 2)
    assert sum(trial.kept) == 2 * (len(study.live) - 1)


def visited(trace, policy):
    """The policy after all pages were visited on days 0 to 8; the columns then, and day 9."""
    engine = TraceEngine(trace)
    history = MemoryHistory(
        trace.urls, make("detector", "digest"), seen=trace.window[0], copies=trace
    )
    for day in range(9):
        now = trace.window[0] + day * DAY
        history.append(engine.visits(np.arange(4), now), now=now)
        policy.learn(history, history.pages(), now)
    return policy, history.pages(), now + DAY


@pytest.mark.parametrize(
    ("tau", "stale", "large"),
    [(0.2, [1, 1, 1, 0], [1, 1, 1, 0]), (0.5, [1, 0, 0, 0], [1, 1, 0, 0])],
)
def test_thresholds_of_the_policies(trace, tau, stale, large):
    policy, pages, now = visited(trace, make("policy", f"staleness:tau={tau},visits_per_day=2"))
    assert policy.large_changes(pages).tolist() == stale
    score = policy.score(pages, now)
    assert score.sum() == pytest.approx(2.0)  # two visits a day, a day after the last visit
    # Pages with the same changes are visited alike. One change in eight days, or none in eight:
    # staleness visits the first more often, because 2 visits a day outrun every change.
    same = score[np.array(stale) == 1]
    assert np.ptp(same) < 1e-9
    assert same[0] > score[3]
    policy, pages, now = visited(trace, make("policy", f"embarrassment:tau={tau},visits_per_day=2"))
    assert policy.large_changes(pages).tolist() == large
    score = policy.score(pages, now)
    # Without queries all pages are viewed alike. Only pages with an embarrassing change are due;
    # page 3 never changed, so nothing is known against it, and its rate alone makes it rare.
    unharmed = (np.array(large) == 0) & (np.arange(4) < 3)
    assert score[unharmed].sum() < 1e-3
    assert np.ptp(score[np.array(large) == 1]) < 1e-9
