"""The experiment judges the policy that ships: same history, same scores as in a replay."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from support import write_trace

from recrawl.lab.replay import replay
from recrawl.lab.traces import open_trace
from recrawl.model import DAY, Budget
from recrawl.papers.pandey.data import prepare_study
from recrawl.papers.pandey.experiment import Trial
from recrawl.papers.pandey.shipped import ShippedCrawl
from recrawl.policies.user_centric import UserCentric
from recrawl.search.queries import read_workload

WORDS = [f"w{i}" for i in range(15)]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    rng = np.random.default_rng(5)
    rows = []
    for page in range(20):
        for day in range(10):
            if not day or rng.random() < page / 30:
                text = " ".join(rng.choice(WORDS, 25))
                rows.append((f"https://a.example/{page:02}", day, 200, text, []))
    return open_trace(write_trace(tmp_path_factory.mktemp("web") / "trace", rows))


@pytest.fixture(scope="module")
def queries(tmp_path_factory):
    file = tmp_path_factory.mktemp("q") / "queries.tsv"
    file.write_text("w1\t5\nw2 w3\t3\nw4 w5 w6\t2\nw7 w8\t1\n")
    return file


@pytest.fixture(scope="module")
def study(trace, queries):
    return prepare_study(trace, read_workload(queries), every=DAY)


class Overheard(UserCentric):
    """The policy, with everything that it said."""

    name = "overheard"
    said: ClassVar[list[tuple[float, np.ndarray, np.ndarray]]] = []

    def score(self, pages, now):
        score = super().score(pages, now)
        self.said.append((now, pages.page_id, score))
        return score


@pytest.mark.parametrize("raw", [False, True])
def test_a_replay_and_the_experiment_score_alike(trace, queries, study, raw):
    Overheard.said.clear()
    policy = Overheard(queries=str(queries), raw=raw)
    log = replay(trace, policy, Budget(fetches=6), warm_up=0)
    crawl = ShippedCrawl.start(study, raw=raw)
    compared = 0
    for cycle in range(len(log.times)):
        for now, page, score in Overheard.said:
            if now == log.times[cycle]:
                np.testing.assert_allclose(crawl.scores(cycle)[page], score, rtol=1e-12)
                compared += len(page)
        crawl.visit(log.page[log.cycle == cycle], cycle)
    assert compared >= 20 * (len(log.times) - 1)
    assert crawl.policy.impact_.gain.max() > 0


def test_the_split_learns_from_what_it_fetches_only(study):
    trial = Trial.of(study, "split")
    known = trial.shipped.policy.impact_.gain.copy()
    fitted = np.bincount(study.page[study.cycle <= trial.fitted[-1]], minlength=study.pages)
    assert trial.shipped.policy.impact_.changes.tolist() == fitted.tolist()
    trial.by_shipped(3)
    np.testing.assert_array_equal(trial.shipped.policy.impact_.gain, known)  # runs do not share
    crawl = trial.shipped.copy()
    cycle = trial.tested[1]
    changed = np.flatnonzero(study.live[cycle] != study.live[cycle - 1])
    unseen, seen = changed[0], changed[1]
    crawl.visit(np.array([seen]), cycle)
    assert crawl.policy.impact_.changes[seen] == trial.shipped.policy.impact_.changes[seen] + 1
    assert crawl.policy.impact_.changes[unseen] == trial.shipped.policy.impact_.changes[unseen]


def test_a_frozen_policy_scores_by_days_since_the_visit(study):
    trial = Trial.of(study, "in-sample")
    one, five = (trial.shipped.scores_after(np.full(study.pages, days)) for days in (1.0, 5.0))
    assert (five > one).all()
    last = trial.fitted[-1]
    np.testing.assert_array_equal(
        trial.shipped.scores_after(np.zeros(study.pages)), trial.shipped.scores(last)
    )
