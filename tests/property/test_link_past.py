"""What is known of new links before each visit, against a plain reading of the past."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.checks import build_pages
from recrawl.features.link_past import NAMES, LinkPast
from recrawl.model import DAY, Intervals, Neighbours
from recrawl.rates.past import starts

PAGES = 5
AROUND = Neighbours(np.array([[1, 2], [0, -1], [0, 3], [2, 4], [-1, -1]]), np.ones((PAGES, 2)))
WEIGHED = Neighbours(AROUND.row[::-1].copy(), np.full((PAGES, 2), 0.5))

#: On each day the pages visited, each with its new links.
plans = st.lists(
    st.dictionaries(st.integers(0, PAGES - 1), st.integers(0, 9), max_size=PAGES),
    min_size=1,
    max_size=12,
)


class Source:
    def __init__(self, past):
        self.past = past

    def intervals(self, page_id, *, never_seen=False):
        return self.past


def pages(days):
    """Pages first visited on day 0, and then by the plans of days 1, 2, …"""
    visits: list[list[tuple[int, int]]] = [[] for _ in range(PAGES)]
    for day, plan in enumerate(days, 1):
        for page, new in plan.items():
            visits[page].append((day, new))
    flat = np.array([v for page in visits for v in page], float).reshape(-1, 2)
    since = [d for page in visits for d in np.diff([0] + [day for day, _ in page])]
    start = starts(np.array([len(page) for page in visits]))
    at, new = flat.T * [[DAY], [1]]
    past = Intervals(start, np.array(since, float), new > 0, at, at * np.nan, new, new * 0, new + 9)
    found = build_pages(past, np.zeros(PAGES))
    return replace(found, source=Source(past))


def followed(days, *, in_steps):
    past = LinkPast()
    past.surround(pages([]), AROUND, WEIGHED)
    for until in range(1, len(days) + 1) if in_steps else [len(days)]:
        past.follow(pages(days[:until]))
    return past


def plainly(days, page, now):
    """Some columns of a page at a time, from the visits before it."""
    before = [(d + 1, p, n) for d, plan in enumerate(days) for p, n in plan.items() if d + 1 < now]
    last = {q: max([d for d, p, _ in before if p == q], default=0) for q in range(PAGES)}

    def rate(of, common=None):
        events = sum(n > 0 for _, p, n in before if p in of)
        watched = sum(last[q] for q in of)
        return (events + 0.5) / (watched + (0.5 / common if common else 0.5))

    common = rate(set(range(PAGES)))
    around = [q for q in AROUND.row[page] if q >= 0]
    told = [n for q in around for d, p, n in before if p == q and n > 0 and d > last[page]]
    latest = {q: max([d for d, p, n in before if p == q and n > 0], default=-1) for q in around}
    hits = sum(day > last[page] for day in latest.values())
    due = sum(rate({q}, common) * max(last[q] - last[page], 0) for q in around)
    return {
        "days": np.log(now - last[page] + 1e-3),
        "rate": np.log(rate({page}, common)),
        "url_rate": np.log(
            (sum(n > 0 for q in around for _, p, n in before if p == q) + 0.5)
            / (sum(last[q] for q in around) + 0.5 / common)
        ),
        "url_pulse": np.log((hits + 0.3) / (due + 0.3)),
        "has_news": bool(told),
    }


@settings(max_examples=60, deadline=None)
@given(days=plans)
def test_columns_are_what_a_plain_reading_of_the_past_says(days):
    past = followed(days, in_steps=True)
    now = len(days) + 2
    found = past.columns(pages(days), now * DAY)
    for page in range(PAGES):
        column = dict(zip(NAMES, found[page], strict=True))
        plain = plainly(days, page, now)
        assert (column["url_new"] > 0) == plain.pop("has_news")
        for name, value in plain.items():
            np.testing.assert_allclose(column[name], value, atol=1e-9, err_msg=name)


@settings(max_examples=60, deadline=None)
@given(days=plans)
def test_step_by_step_or_all_at_once_and_later_visits_change_nothing(days):
    steps, once = followed(days, in_steps=True), followed(days, in_steps=False)
    for mine, other in zip(steps.told(), once.told(), strict=True):
        np.testing.assert_allclose(mine, other)
    early = followed(days[:-1], in_steps=False)
    visits = sum(map(len, days[:-1]))
    if visits:
        np.testing.assert_allclose(early.told()[0], once.told()[0][:visits])


def test_visits_that_come_to_be_known_late_are_taken_in_where_they_belong():
    days = [{0: 3}, {1: 2, 2: 0}, {0: 1}]
    past = LinkPast()
    past.surround(pages([]), AROUND, WEIGHED)
    past.follow(pages([{}, days[1], days[2]]))
    past.follow(pages(days))
    np.testing.assert_allclose(past.told()[0], followed(days, in_steps=False).told()[0])
