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
from recrawl.papers.dang.policies.lbla import N_NEIGHBOURS, Fitted, Lbla
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


def visited(*pages):
    """The visits to pages, each a list of (days since the visit before, new links)."""
    days, new = np.array([visit for page in pages for visit in page], float).reshape(-1, 2).T
    at = np.concatenate([np.cumsum([visit[0] for visit in page]) for page in pages]) * DAY
    start = starts(np.array([len(page) for page in pages]))
    return Intervals(start, days, new > 0, at, new * np.nan, new, new * 0, new + 9)


def next_to(*rows):
    return Neighbours(np.array(rows), np.where(np.array(rows) < 0, 0.0, 1.0))


def test_before_enough_is_known_rates_are_a_gamma_mean():
    """Page 0: 4 links in 8 days, page 1: 6 in 2, page 2: never compared; each near the next.

    All pages: (10 + 0.5) / (10 + 0.5) = 1 a day. Around page 0 are 3 a day, around page 1 nothing
    is known, so 1, around page 2 0.5 a day.
    """
    visits = visited([(3, 0), (5, 4)], [(2, 6)], [])
    near = next_to([1], [2], [0])
    rates = LinkRates().fit(visits, near)
    assert rates.model_ is None
    expected = [
        (4 + 30 * (0.9 * 3 + 0.1)) / 38,
        (6 + 30 * (0.9 * 1 + 0.1)) / 32,
        (0 + 30 * (0.9 * 0.5 + 0.1)) / 30,
    ]
    assert rates.predict(visits, near).tolist() == pytest.approx(expected)


def test_twenty_visits_with_new_links_are_enough_for_a_model():
    for events, is_fitted in ((19, False), (20, True)):
        visits = visited([(1, 1)] * events + [(1, 0)] * 20, [(1, 0)] * 9)
        assert (LinkRates().fit(visits, next_to([1], [0])).model_ is not None) == is_fitted


def test_visits_soon_after_another_say_nothing_of_a_rate():
    pages = grown(pages=2, visits=3)
    past = replace(pages.source.past, days=np.array([0.001, 0.002, 2, 2, 2, 2]))
    kept = link_visits(replace(pages, source=Copies(past)))
    assert kept.days.tolist() == [0.002, 2, 2, 2, 2]
    assert kept.start.tolist() == [0, 2, 5]


def test_examples_by_hand():
    """Own past up to each visit, a day; related pages as of the last moment before."""
    visits = visited([(2, 4), (2, 0), (2, 2)], [(2, 6), (2, 2), (2, 0)])
    names = [feature.name for feature in [*OWN, *RELATED]]
    x = examples(visits, next_to([1], [0]))
    column = {name: x[:, number] for number, name in enumerate(names)}
    # A day: page 0 shows 2, 0, 1 and page 1 shows 3, 1, 0. Before the first visit: nothing.
    nan = np.nan
    np.testing.assert_array_equal(column["new_links-1"], [nan, 2, 0, nan, 3, 1])
    np.testing.assert_array_equal(column["new_links-2"], [nan, nan, 2, nan, nan, 3])
    np.testing.assert_array_equal(column["new_links-3"], [nan] * 6)
    np.testing.assert_array_equal(column["mean_new_links-1..8"], [nan, 2, 1, nan, 3, 2])
    np.testing.assert_array_equal(column["related_new_links-1"], [nan, 3, 1, nan, 2, 0])
    np.testing.assert_array_equal(column["related_mean_new_links-1..8"], [nan, 3, 2, nan, 2, 1])
    # Share of time in which links came, at one in two days: visit 1 of each page, then 1 of 2.
    np.testing.assert_array_equal(column["related_new_links_rate"], [nan, 0.5, 0.5, nan, 0.5, 0.25])


def test_a_page_never_compared_has_the_mean_of_those_around_it():
    visits = visited([], [(2, 6), (2, 2)])
    asked = []

    class Echo:
        def predict(self, x):
            asked.append(x)
            return x[:, -1]

    rates = LinkRates(model_=Echo(), used_=np.ones(19, bool))
    rates.predict(visits, next_to([1], [0]))
    own_mean = len(OWN) - 1
    assert asked[0][:, own_mean].tolist() == [2, 2]  # 8 links in 4 days, its own and around it
    assert np.isnan(asked[0][0, 0])
    assert asked[0][1, 0] == 1  # the last visit: 2 links in 2 days


def test_scores_are_rates_by_days_since_the_visit():
    pages = grown(busy=(0, 0, 0))
    policy = taught(pages)
    early, late = (policy.score(pages, now * DAY) for now in (20, 28))
    # The last visit is on day 12.
    np.testing.assert_allclose(late / early, (28 - 12) / (20 - 12))


def test_neighbours_among_the_pages_that_are_asked_about():
    """Pages 0 and 2 of four: their neighbours are at other rows now, or not there."""
    key = np.array([10, 20, 30, 40], np.uint64)
    row = np.full((4, N_NEIGHBOURS), -1)
    row[:, :2] = [[2, 1], [0, 3], [0, -1], [1, 2]]
    weight = np.where(row >= 0, 0.5, 0.0)
    fitted = Fitted(0.0, key, None, Neighbours(row, weight), LinkRates())
    near = fitted.neighbours(np.array([30, 99, 10], np.uint64))
    assert near.row[:, :2].tolist() == [[2, -1], [-1, -1], [0, -1]]
    assert near.weight[:, :2].tolist() == [[0.5, 0], [0, 0], [0.5, 0]]
    assert (near.row[:, 2:] == -1).all()
    assert not near.weight[:, 2:].any()


def test_pages_without_text_have_siblings_by_url():
    pages = grown()
    near = taught(pages).fitted_.near
    assert near.row.shape == (60, 30)
    order = np.argsort(pages.key)
    mute = np.flatnonzero(order % 10 == 9)
    told = np.setdiff1d(np.arange(60), mute)
    assert (near.weight[mute][:, 0] == 1).all()  # siblings weigh the same
    assert not np.isin(near.row[told], mute).any()
    topic = order % 3
    assert (topic[near.row[told, 0]] == topic[told]).all()
