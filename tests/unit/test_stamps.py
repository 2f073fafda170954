"""Evidence of Last-Modified: what it adds to a rate, and which hosts are believed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from recrawl import registry, units
from recrawl.auto.features import FeatureState
from recrawl.auto.model import HitModel
from recrawl.auto.reasons import reasons
from recrawl.auto.stamps import MAX_AGE_DAYS, Stamps, is_inside
from recrawl.errors import BadInput
from recrawl.history import Store
from recrawl.history.memory import MemoryHistory
from recrawl.lab.replay import replay
from recrawl.lab.stamps import LastModified
from recrawl.lab.traces import open_trace
from recrawl.lab.worlds import write
from recrawl.model import DAY, VISITS
from recrawl.registry import make

NO = np.nan
BEGIN = 1_767_225_600.0
URLS = ["https://a.org/1", "https://a.org/2", "https://b.org/1", "https://b.org/2"]
#: Two hosts: a row for each of the levels, one column per page.
GROUPS = np.array([[0, 0, 0, 0], [1, 1, 2, 2], [1, 1, 2, 2], [1, 1, 2, 2], [-1, -1, -1, -1]])


def test_a_stamp_lies_inside_the_interval_that_the_visit_closes():
    days, age = np.full(5, 10.0), np.array([3.0, 10.0, -0.01, -2.0, NO])
    assert is_inside(days, age).tolist() == [True, False, True, False, False]


def test_a_host_whose_stamps_move_with_its_pages_is_believed():
    stamps = Stamps.empty(4)
    page, days = np.array([0, 1] * 20), np.full(40, 5.0)
    hit = np.arange(40) % 4 == 0
    stamps.add_visits(page, days, np.where(hit, 2.0, 30.0), hit)
    stamps.judge_hosts(GROUPS)
    assert stamps.belief[:2] == pytest.approx([1.0, 1.0], abs=0.1)
    assert (stamps.belief[2:] < stamps.belief[:2]).all()  # nothing is known of the other host


@pytest.mark.parametrize(
    ("kind", "age"),
    [("the time of the request", [0.0, 0.0]), ("a date that never moves", [300.0, 300.0])],
)
def test_a_host_that_sends_nonsense_is_not_believed(kind, age):
    """Half of the visits show a change; one kind is wrong about these, the other about the rest."""
    stamps = Stamps.empty(4)
    hit = np.arange(60) % 2 == 0
    stamps.add_visits(np.zeros(60, int), np.full(60, 5.0), np.where(hit, *age), hit)
    stamps.judge_hosts(GROUPS)
    assert stamps.belief[0] < 0.1, kind


def test_hosts_are_judged_apart():
    stamps = Stamps.empty(4)
    hit = np.tile([True, False], 30)
    for page, ages in ((0, (1.0, 30.0)), (2, (0.0, 0.0))):
        stamps.add_visits(np.full(60, page), np.full(60, 5.0), np.where(hit, *ages), hit)
    stamps.judge_hosts(GROUPS)
    assert stamps.belief[1] > 0.85
    assert stamps.belief[3] < 0.15


def test_the_age_at_the_first_visit_is_one_change_in_that_time():
    stamps = Stamps.empty(3)
    stamps.first_age[:] = [40.0, NO, np.inf]
    stamps.belief[:] = 0.5
    events, days = stamps.first_events(np.arange(3))
    assert events.tolist() == [0.5, 0.0, 0.0]
    assert days.tolist() == [20.0, 0.0, 0.0]


def visits(days, modified, digests):
    """One visit to each of URLS, with the days of last modification."""
    n = len(URLS)
    columns = {f.name: pa.nulls(n, f.type) for f in VISITS}
    seconds = lambda day: None if np.isnan(day) else int((BEGIN + day * DAY) * 1e6)  # noqa: E731
    columns |= {
        "url": pa.array(URLS),
        "at": pa.array([seconds(days)] * n).cast(VISITS.field("at").type),
        "status": pa.array([200] * n, pa.int16()),
        "digest": pa.array(digests),
        "digest_of": pa.array(["test"] * n),
        "last_modified": pa.array([seconds(m) for m in modified], pa.int64()).cast(
            VISITS.field("last_modified").type
        ),
    }
    return pa.table(columns, schema=VISITS)


@pytest.fixture(params=["memory", "store"])
def history(request, tmp_path):
    if request.param == "store":
        return Store.open(tmp_path / "store", create=True)
    return MemoryHistory(URLS, make("detector", "digest"), seen=BEGIN)


def test_both_histories_know_the_stamp_of_the_first_visit(history):
    history.append(visits(1.0, [-30.0, NO, 0.5, -9_000.0], [1, 1, 1, 1]))
    history.append(visits(3.0, [2.0, 2.0, 0.5, -9_000.0], [2, 2, 1, 1]))
    pages = history.pages()
    order = np.argsort(pages.urls())
    first = (pages.first_modified()[order] - BEGIN) / DAY
    assert np.array_equal(first, [-30.0, NO, 0.5, -9_000.0], equal_nan=True)
    stamps = Stamps.empty(len(pages))
    stamps.read_first(pages)
    assert stamps.first_age[order][[0, 2, 3]].tolist() == [31.0, 0.5, MAX_AGE_DAYS]
    assert np.isnan(stamps.first_age[order][1])


def test_a_dated_change_counts_once_from_its_date(history):
    """Both pages of a host changed between two visits; the stamp of one says when."""
    history.append(visits(0.0, [NO, NO, NO, NO], [1, 1, 1, 1]))
    history.append(visits(20.0, [18.0, NO, NO, NO], [2, 2, 1, 1]))
    state = FeatureState("change")
    pages = history.pages()
    order = np.argsort(pages.urls())
    assert state.update(pages, BEGIN + 20.5 * DAY) is not None
    state.stamps.belief[:] = 1.0
    state.history.days[:] = state.history.events[:] = 0.0
    history.append(visits(40.0, [37.0, NO, NO, NO], [3, 3, 1, 1]))
    state.update(history.pages(), BEGIN + 40.5 * DAY)
    events, days, last = (getattr(state.history, n)[order] for n in ("events", "days", "last_hit"))
    day = BEGIN / DAY
    assert days == pytest.approx([3.0, 20.0, 20.0, 20.0])
    assert events[0] == pytest.approx(1.0)
    assert events[1] > 1.0  # of an interval of 20 days only the mean is known
    assert last[:2] - day == pytest.approx([37.0, 40.0])
    assert state.rate[order][0] > state.rate[order][1] > state.rate[order][2]


def test_explain_names_what_the_server_said(history):
    history.append(visits(1.0, [-30.0, NO, NO, NO], [1, 1, 1, 1]))
    model = HitModel("change")
    pages = history.pages()
    model.learn(history, pages, BEGIN + 2 * DAY)
    row = list(pages.urls()).index(URLS[0])
    model.state.stamps.belief[:] = 0.75
    said = "last modified 31 d before our first visit, by its server (75% believed)"
    assert said in reasons(model, pages, row)
    model.state.stamps.belief[:] = 0.4
    assert said[:13] not in " ".join(reasons(model, pages, row))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write(registry.make("world", "poisson").make(pages=200, days=40, seed=3), folder)
    return open_trace(folder)


def test_a_share_of_the_pages_sends_the_truth(world):
    page = np.arange(len(world))
    version = world.live_at(world.window[0])
    sent = LastModified(0.5).sent(world, page, version, world.window[0], seed=0)
    true = ~np.isnan(sent)
    assert 0.3 < true.mean() < 0.7
    assert (sent[true] == world.valid_from[version[true]]).all()
    again = LastModified(0.5, "now").sent(world, page, version, world.window[0], seed=0)
    assert (again[~true] == world.window[0]).all()
    assert (again[true] == sent[true]).all()


def test_what_is_asked_for_as_text():
    assert LastModified.parse("0%") is None
    assert LastModified.parse("0%:frozen") == LastModified(0.0, "frozen")
    with pytest.raises(BadInput, match="none, now, frozen, random"):
        LastModified.parse("50%:yesterday")


@pytest.mark.slow
def test_true_stamps_find_more_of_the_pages_that_change_often(world):
    """Rates are known after the first visit: the pages visited are those that change more."""
    rate = np.bincount(world.page, minlength=len(world))
    fetched = {}
    for stamps in (None, LastModified(1.0), LastModified(0.0, "now")):
        log = replay(world, "auto", units.budget("5%"), warm_up=1, stamps=stamps)
        fetched[stamps and stamps.others] = rate[log.page[log.cycle > 1]].mean()
    assert fetched["none"] > fetched[None]
    assert fetched["now"] == pytest.approx(fetched[None], rel=0.1)  # lies do little harm
