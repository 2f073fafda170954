"""Policies for new links: known answers, and what sibling pages say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recrawl import registry
from recrawl.checks import build_pages
from recrawl.model import DAY, Intervals, starts
from recrawl.planner import plan

NAN = float("nan")


class Named:
    """Intervals from memory, of pages with these URLs."""

    def __init__(self, past, urls):
        self.past, self.names = past, urls

    def urls(self, page_id):
        return [self.names[page] for page in page_id]

    def intervals(self, page_id, *, never_seen=False):
        assert (page_id == np.arange(len(self.names))).all()
        return self.past


def pages(visits, *, has=1000.0):
    """Pages by URL, each with its visits (day, new links), first visited on day 0."""
    start = starts(np.array([len(v) for v in visits.values()]))
    day, new = np.array([v for page in visits.values() for v in page], float).reshape(-1, 2).T
    days = np.diff(day, prepend=0.0)
    first = start[:-1][np.diff(start) > 0]
    days[first] = day[first]
    links = np.where(np.isnan(new), np.nan, has)
    past = Intervals(start, days, new > 0, day * DAY, new * NAN, new, new * 0, links)
    return replace(build_pages(past, np.zeros(len(visits))), source=Named(past, list(visits)))


def score(name, visits, now, **arguments):
    return registry.make("policy", name).score(pages(visits, **arguments), now * DAY)


PAST = {
    "https://a.example/": [(1, 4), (3, 2)],
    "https://b.example/": [(2, 0), (3, 5)],
    "https://c.example/": [(1, 3), (3, 0)],
    "https://d.example/": [(3, NAN)],
    "https://e.example/": [],
}


def test_mean_and_last_of_new_links_a_day():
    assert score("links-mean", PAST, 5).tolist() == [4, 10 / 3, 2, 0, 0]
    assert score("links-last", PAST, 5).tolist() == [2, 10, 0, 0, 0]


@pytest.mark.parametrize("has", [1e9, 50.0])
def test_a_page_alone(has):
    """Corpus 1.5 / 3.5; rate (1 + 1) / (3 + 3.5 / 1.5); both sizes are 8; 2 days; at most `has`."""
    due = 2 / (3 + 3.5 / 1.5) * 8 * 2
    found = score("links", {"https://a.example/": [(1, 8), (3, 0)]}, 5, has=has)
    assert found == pytest.approx([has * -np.expm1(-due / has)])


def test_every_page_is_due_one_day_and_never_visited_ones_too():
    found = score("links", PAST, 5)
    assert (found > 0).all()
    # Nothing known of its links: it goes by the others, for as long as it was not visited.
    assert found[4] == pytest.approx(found[3] * 5 / 2, rel=1e-2)


def test_without_any_known_links_the_oldest_goes_first():
    unknown = {f"https://{day}.example/": [(day, NAN)] for day in (1, 3, 2)}
    assert np.argsort(-score("links", unknown, 9)).tolist() == [0, 2, 1]


def lists(n, *, shared):
    """Lists of two pages each: what is new on one is on the other, or on no other's."""
    past = {}
    for i in range(n):
        hits = {day: 5 * (day % 4 == i % 4) for day in range(1, 13)}
        others = hits if shared else {day: 5 * (day % 4 == (i + 2) % 4) for day in range(1, 13)}
        past[f"https://a.example/{i}/"] = list(hits.items())
        past[f"https://a.example/{i}/week"] = list(others.items())
    return past


def test_new_links_of_siblings_are_expected_where_that_was_so_before():
    for shared in (True, False):
        past = lists(8, shared=shared)
        past["https://a.example/0/"] += [(14, 40)]  # its sibling has not been visited since
        past["https://a.example/4/"] += [(14, 0)]
        informed, quiet = score("links", past, 15)[[1, 9]]
        assert (informed > 30) == shared
        assert (informed > 1.5 * quiet) == shared


def test_one_of_the_siblings_that_change_together_goes_first():
    together = score("links", lists(8, shared=True), 15).reshape(8, 2)
    assert (together.min(axis=1) < together.max(axis=1) / 3).all()
    apart = score("links", lists(8, shared=False), 15).reshape(8, 2)
    assert (apart.min(axis=1) > apart.max(axis=1) / 2).all()


def test_pages_of_a_lively_directory_are_expected_to_be_lively():
    past = {
        f"https://a.example/{d}/{i}": [(2, 3 * (d == "news"))]
        for d in ("news", "old")
        for i in "abc"
    }
    past |= {"https://a.example/news/new": [], "https://a.example/old/new": []}
    *_, lively, still = score("links", past, 5)
    assert lively > 1.2 * still


@pytest.mark.slow
def test_the_page_with_new_links_comes_before_the_page_with_new_words(store, visits):
    hub, news, still = (f"https://{host}.example/" for host in ("hub", "news", "still"))
    for day in range(4):
        links = [f"https://out.example/{i}" for i in range(3 * day + 3)]
        store.append(
            visits(
                (hub, day, day, {"links": links}),
                (news, day, day, {"links": [hub]}),
                (still, day, None, {"status": 304}) if day else (still, 0, 0, {"links": [hub]}),
            )
        )
    now = float(store.pages().last_visit.max()) + DAY
    found = plan(store, 3, now=now, policy="links")
    assert found.urls()[0] == hub
    assert found.score[0] > 3 * found.score[1]  # where nothing was modified nothing was new
    changing = plan(store, 3, now=now, policy="poisson").score
    assert changing[0] == pytest.approx(changing[1])


def test_scores_do_not_depend_on_earlier_questions():
    policy = registry.make("policy", "links")
    policy.score(pages(PAST), 5 * DAY)
    other = pages(lists(8, shared=True))
    assert (policy.score(other, 15 * DAY) == score("links", lists(8, shared=True), 15)).all()
    assert other.intervals().page.max() == 15
