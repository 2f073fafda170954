"""Look back, look around, online: what teaches it, and that it copes with whatever is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from recrawl.checks import build_pages
from recrawl.checks.sample import SampleHistory, SampleSource
from recrawl.lab.rankings import spearman
from recrawl.model import DAY, Intervals, Neighbours, starts
from recrawl.papers.dang import rates as outlinks
from recrawl.papers.dang.policies.lbla import Lbla
from recrawl.papers.dang.rates import OWN, RELATED, LinkRates, examples, link_visits

TOPICS = [
    "tea cup kettle leaf brew pot",
    "train rail station ticket track",
    "moon orbit star comet sky",
]


class Copies(SampleSource):
    """Intervals from memory, and texts by topic; a third of the hosts has none."""

    def texts(self, page_id, characters=None):
        return pa.array(
            [None if p % 10 == 9 else f"{TOPICS[p % 3]} page {p}" for p in page_id.tolist()],
            pa.large_string(),
        )


def grown(pages=60, visits=6, *, seed=0, busy=(5.0, 0.5, 0.0), texts=True):
    """Pages of three topics visited every two days, with so many new links a day by topic."""
    random = np.random.default_rng(seed)
    count = np.full(pages, visits)
    start = starts(count)
    page = np.repeat(np.arange(pages), visits)
    new = random.poisson(2.0 * np.array(busy)[page % 3]).astype(float)
    at = np.tile(np.arange(1, visits + 1) * 2.0 * DAY, pages)
    past = Intervals(
        start, np.full(len(page), 2.0), new > 0, at, new * np.nan, new, new * 0, new + 9
    )
    found = build_pages(past, np.zeros(pages))
    return replace(found, source=Copies(past)) if texts else found


def taught(pages, now=20.0):
    policy = Lbla()
    policy.learn(SampleHistory(pages), pages, now * DAY)
    return policy


def test_topics_that_grow_go_first_and_nothing_is_zero():
    pages = grown()
    found = taught(pages).score(pages, 20 * DAY)
    assert (found > 0).all()
    topic = np.arange(60) % 3
    assert found[topic == 0].min() > found[topic == 1].max() > found[topic == 2].max()


def test_a_page_without_a_past_is_told_by_pages_like_it():
    pages = grown()
    known = pages.n_compared.copy()
    new = np.array([30, 31, 32])
    known[new] = 0
    pages = replace(pages, n_compared=known)
    found = taught(pages).score(pages, 20 * DAY)[new]
    assert found[0] > 3 * found[1]
    assert found[1] > found[2] > 0


@pytest.mark.parametrize(
    ("pages", "why"),
    [
        (grown(texts=False), "no page has text"),
        (grown(busy=(0, 0, 0)), "no links anywhere"),
        (grown(pages=3), "fewer pages than neighbours"),
        (grown(pages=1), "one page"),
        (grown(visits=1), "history shorter than eight"),
        (grown(visits=0), "no visit compared"),
        (grown().take(np.arange(0)), "no page"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_copes(pages, why):
    found = taught(pages).score(pages, 20 * DAY)
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_scores_do_not_depend_on_the_order_of_rows_nor_on_absent_pages():
    pages = grown()
    policy = taught(pages)
    order = np.random.default_rng(0).permutation(len(pages))
    whole = policy.score(pages, 20 * DAY)
    np.testing.assert_allclose(policy.score(pages.take(order), 20 * DAY), whole[order], rtol=1e-9)
    assert np.isfinite(policy.score(pages.take(np.arange(5)), 20 * DAY)).all()


def test_fitted_anew_only_when_it_is_time_and_only_changed_texts_are_read():
    pages = grown()
    policy = taught(pages, now=20.0)
    first = policy.fitted_
    policy.learn(SampleHistory(pages), pages, 26.9 * DAY)
    assert policy.fitted_ is first
    asked = []

    class Counting(Copies):
        def texts(self, page_id, characters=None):
            asked.append(page_id)
            return super().texts(page_id)

    changed = np.where(np.arange(60) == 7, 26.0 * DAY, pages.last_change)
    later = replace(pages, last_change=changed, source=Counting(pages.source.past))
    policy.learn(SampleHistory(later), later, 27 * DAY)
    assert policy.fitted_ is not first
    assert [ids.tolist() for ids in asked] == [[7]]


def test_what_teaches_was_known_before_the_visit():
    """Whatever visits show, no row of an earlier visit or of the same time changes."""
    visits = link_visits(grown())
    near = Neighbours((np.arange(60)[:, None] + np.arange(1, 4)) % 60, np.ones((60, 3)))
    before = examples(visits, near)
    cut = 6 * DAY
    other = replace(visits, new_internal=np.where(visits.at >= cut, 777.0, visits.new_internal))
    after = examples(other, near)
    early = visits.at <= cut
    assert np.array_equal(before[early], after[early], equal_nan=True)
    assert not np.array_equal(before[~early], after[~early], equal_nan=True)
    assert before.shape[1] == len(OWN) + len(RELATED) == 19


def test_without_lightgbm_scikit_learn_serves(monkeypatch):
    monkeypatch.setattr(outlinks, "is_installed", lambda _: False)
    visits = link_visits(grown())
    nobody = Neighbours(np.full((60, 1), -1), np.zeros((60, 1)))
    rates = LinkRates().fit(visits, nobody)
    assert type(rates.model_).__name__ == "HistGradientBoostingRegressor"
    truth = np.array([5.0, 0.5, 0.0])[np.arange(60) % 3]
    assert spearman(truth, rates.predict(visits, nobody)) > 0.9
