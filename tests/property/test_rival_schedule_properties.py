"""The fast schedules of other crawlers against plain slow ones, written page by page."""

from math import floor, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl import registry
from recrawl.checks import build_pages
from recrawl.model import DAY, Intervals, starts

quick = settings(max_examples=60, deadline=None)
visits = st.lists(st.tuples(st.floats(1e-3, 300.0), st.booleans()), max_size=25)
webs = st.lists(visits, min_size=1, max_size=5)


def columns(web):
    """The pages of a web, each first visited at time 0."""
    flat = [visit for each in web for visit in each]
    days, changed = np.array([d for d, _ in flat]), np.array([c for _, c in flat], np.bool_)
    at = np.array([t for each in web for t in np.cumsum([d for d, _ in each]) * DAY])
    start = starts(np.array([len(each) for each in web]))
    past = Intervals(start, days, changed, at, *np.full((4, len(at)), np.nan))
    return build_pages(past, np.zeros(len(web)))


def log(each):
    """(time, outcome) of the visits of a page; the first has no outcome."""
    times = np.cumsum([days for days, _ in each]) * DAY
    return [(0.0, None), *zip(times, [changed for _, changed in each], strict=True)]


def nutch(each, now):
    interval, modified, compared, due = 30 * DAY, None, False, 0.0
    for at, outcome in log(each):
        outcome = outcome if compared else None
        if outcome is True:
            interval, modified = 0.8 * interval, at
        if outcome is False:
            interval = 1.4 * interval
        modified = at if modified is None else modified
        unchanged_for = at - modified
        if unchanged_for > interval:
            interval = floor(unchanged_for)
        shift = 0.3 * unchanged_for
        if shift > 365 * DAY:
            shift = 0.0
        interval = sorted([60.0, interval, 365 * DAY])[1]
        due = at - shift + interval
        interval = floor(interval + 0.5)
        compared = interval <= 90 * DAY
        if not compared:
            interval, modified = 81 * DAY, None
    return now if due > now + 90 * DAY else due


def stormcrawler(each, _):
    minutes, due = 1440, 0.0
    for at, outcome in log(each):
        if outcome is True:
            minutes = int(0.5 * minutes + 30)
        if outcome is False:
            minutes = min(int(1.5 * minutes), 20160)
        due = at + 60 * minutes
    return due


def manifoldcf(each, _):
    changes = [at for at, outcome in log(each) if outcome]
    mean = max(changes, default=0.0) / (1 + len(changes))
    return log(each)[-1][0] + min(DAY + mean, inf)


@quick
@given(webs, st.floats(0.0, 400.0))
@pytest.mark.parametrize(
    ("name", "slow"),
    [
        ("nutch-adaptive", nutch),
        ("stormcrawler-adaptive", stormcrawler),
        ("manifoldcf-dynamic", manifoldcf),
    ],
)
def test_the_fast_schedule_is_the_slow_one(name, slow, web, later):
    now = max(sum(days for days, _ in each) for each in web) * DAY + later * DAY
    found = registry.make("policy", name).score(columns(web), now)
    known = [(now - slow(each, now)) / DAY for each in web]
    np.testing.assert_allclose(found, known, atol=1e-4)
