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


def plain(visits, now, has):
    """The policy `links` before it learned, page by page; visits are (day, new links)."""
    key = pages(visits).key
    urls, rows = list(visits), range(len(visits))
    known = [[(day, new) for day, new in visits[url] if new == new] for url in urls]
    gaps = [np.diff([day for day, _ in visits[url]], prepend=0.0).tolist() for url in urls]
    days = [
        [gap for gap, (_, new) in zip(gaps[i], visits[urls[i]], strict=True) if new == new]
        for i in rows
    ]
    events = [sum(new > 0 for _, new in known[i]) for i in rows]
    logs = [sum(np.log(max(new, 1.0)) for _, new in known[i]) for i in rows]
    exposure = [sum(days[i]) for i in rows]
    levels = levels_of(urls)

    def shrunk(count, of, weight, overall):
        mean = [overall] * len(urls)
        for names in levels:
            others = [[j for j in rows if j != i and names[j] == names[i]] for i in rows]
            n = [max(len(mine), 1) for mine in others]
            mean = [
                (sum(count[j] for j in others[i]) / n[i] + weight * mean[i])
                / (sum(of[j] for j in others[i]) / n[i] + weight)
                for i in rows
            ]
        return [(count[i] + weight * mean[i]) / (of[i] + weight) for i in rows]

    overall = (sum(events) + 0.5) / (sum(exposure) + 0.5)
    rate = shrunk(events, exposure, 1 / overall, overall)
    size = np.exp(shrunk(logs, events, 1.0, sum(logs) / max(sum(events), 1)))
    group = [
        next(
            (
                [j for j in rows if names[j] == names[i]]
                for names in levels[::-1]
                if names.count(names[i]) > 1
            ),
            [i],
        )
        for i in rows
    ]
    excess, informed = {}, {}
    for i in rows:
        doublings = int(np.log2(len(group[i])))
        for (at, new), gap in zip(known[i], days[i], strict=True):
            others = [
                1 for j in group[i] for t, m in known[j] if j != i and m > 0 and at - gap < t <= at
            ]
            if others:
                surprise = (new > 0) - (1 - np.exp(-rate[i] * gap))
                excess[doublings] = excess.get(doublings, 0.0) + surprise
                informed[doublings] = informed.get(doublings, 0) + 1

    last = [visits[url][-1][0] if visits[url] else 0.0 for url in urls]

    def expected(i, quiet):
        doublings = int(np.log2(len(group[i])))
        share = max(excess.get(doublings, 0.0), 0.0) / (informed.get(doublings, 0) + 1)
        news = sorted((t, m) for j in group[i] for t, m in known[j] if m > 0 and t > last[i])
        links = rate[i] * size[i] * (now - last[i] - share * quiet)
        links += share * news[-1][1] if news else 0.0
        room = max(has if known[i] else 1e12, 1.0)
        return -room * np.expm1(-links / room)

    latest = [max(last[j] for j in group[i]) for i in rows]
    alone = [expected(i, latest[i] - last[i]) for i in rows]
    first = [max(group[i], key=lambda j: (alone[j], -int(key[j]))) for i in rows]
    return [alone[i] if first[i] == i else expected(i, now - last[i]) for i in rows]


def levels_of(urls):
    """By level, the part of each URL that names its group; the last level has no group of two."""
    parts = [url.removeprefix("https://").rstrip("/").split("/") for url in urls]
    levels = []
    for segments in range(1, 8):
        levels.append(["/".join(part[:segments]) for part in parts])
        if len(set(levels[-1])) == len(urls):
            break
    return levels


def random_past(seed):
    """Pages in folders; some are visited more often, some never, some links are unknown."""
    random = np.random.default_rng(seed)
    urls = [f"https://{h}.example/{d}/{i}" for h in "ab" for d in "xyz" for i in range(3)]
    past = {}
    for url in [*urls, "https://c.example/"]:
        day = np.unique(random.integers(1, 60, random.integers(0, 9))) / 2
        new = random.integers(0, 9, len(day)) * (random.random(len(day)) < 0.6)
        past[url] = list(zip(day, np.where(random.random(len(day)) < 0.1, NAN, new), strict=True))
    return past


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("has", [1e6, 12.0])
def test_expected_links_are_what_plain_python_says(seed, has):
    past = random_past(seed)
    found = score("links", past, 31, has=has)
    np.testing.assert_allclose(found, plain(past, 31, has), rtol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_expected_links_of_siblings_are_what_plain_python_says(shared):
    past = lists(8, shared=shared)
    past["https://a.example/0/"] += [(14, 40)]
    past["https://a.example/4/"] += [(13, 7), (14, 0)]
    past["https://a.example/5/week"] += [(13.5, 3)]
    past["https://a.example/6/week"] += [(13, 0)]
    past["https://a.example/6/"] += [
        (13 + 1 / 86_400, 9)
    ]  # a second after the visit to its sibling
    past |= {f"https://quiet.example/x/{i}": [(2, 0)] for i in range(9)}
    np.testing.assert_allclose(score("links", past, 15), plain(past, 15, 1000.0), rtol=1e-6)


def test_scores_do_not_depend_on_earlier_questions():
    policy = registry.make("policy", "links")
    policy.score(pages(PAST), 5 * DAY)
    other = pages(lists(8, shared=True))
    assert (policy.score(other, 15 * DAY) == score("links", lists(8, shared=True), 15)).all()
    assert other.intervals().page.max() == 15
