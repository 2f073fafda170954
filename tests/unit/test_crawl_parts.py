"""The parts of a crawl that need no network."""

from __future__ import annotations

import asyncio
import gzip
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recrawl
from recrawl import units, urls
from recrawl.crawl.clock import CrawlClock, ForwardClock
from recrawl.crawl.discover import Discovery, read_seeds
from recrawl.crawl.loop import next_start
from recrawl.crawl.pace import Pace
from recrawl.crawl.scope import Scope
from recrawl.crawl.sitemaps import MAX_FILES_IN_MEMORY, SitemapReader
from recrawl.errors import BadInput
from recrawl.fetch import FetchResult
from recrawl.model import DAY
from recrawl.page.responses import Response, to_visits
from recrawl.page.sitemaps import (
    MAX_ELEMENTS,
    MAX_ENTRIES,
    SitemapEntry,
    read_sitemap,
    scan_sitemap,
)

NOON = 1_699_963_200.0  # 2023-11-14T12:00Z
MIDNIGHT = NOON - DAY / 2
A, B = "https://a.example.org/", "https://b.example.org/"


@pytest.fixture
def store(tmp_path):
    with recrawl.open(tmp_path / "store", create=True) as opened:
        yield opened


# The budget of a day


@pytest.mark.parametrize(
    ("text", "pace"),
    [
        ("500/day", (500, DAY)),
        ("500/Days", (500, DAY)),
        ("20/h", (20, 3600.0)),
        (" 3 / week ", (3, 7 * DAY)),
        ("1/minute", (1, 60.0)),
    ],
)
def test_a_pace_is_parsed(text, pace):
    assert units.pace(text) == pace
    assert Pace.parse(text) == Pace(fetches=pace[0], period=pace[1])


@pytest.mark.parametrize("text", ["", "5/", "/day", "1.5/day", "-1/day", "5/fortnight", "9" * 30])
def test_an_invalid_pace_is_refused(text):
    with pytest.raises(BadInput, match="try 500/day"):
        Pace.parse(text)


def test_a_day_is_spread_over_its_cycles_and_leftovers_are_made_up_for():
    pace = Pace(fetches=240, period=DAY)

    def left(now, *, spent=0, start=0.0, every=3600.0):
        return pace.left(lambda _: spent, start=start, now=now, until=now + every)

    assert left(MIDNIGHT) == 10
    assert left(NOON, spent=120) == 10
    assert left(NOON, spent=0) == 130  # the night was missed
    assert left(NOON, spent=0, start=NOON) == 10  # or there was no crawl then
    assert left(NOON, spent=239, every=DAY) == 1
    assert left(NOON, spent=999) == 0


@pytest.mark.slow
@given(
    fetches=st.integers(0, 9),
    period=st.sampled_from([3600.0, DAY]),
    start=st.floats(0, DAY),
    cycles=st.lists(
        st.tuples(
            st.floats(1, 3 * DAY),  # its length
            st.lists(st.floats(0, 1.2), min_size=9, max_size=9),  # when it fetches; some late
            st.floats(0, DAY),  # a pause after it, such as that of a restart
        ),
        max_size=12,
    ),
)
def test_no_day_exceeds_its_budget(fetches, period, start, cycles):
    pace = Pace(fetches=fetches, period=period)
    now = begun = MIDNIGHT + start
    made = []

    def spent(since):
        return sum(at >= since for at in made)

    for length, moments, pause in cycles:
        allowed = pace.left(spent, start=begun, now=now, until=now + length)
        made += [now + length * moment for moment in sorted(moments)[:allowed]]
        now = max([now, *made]) + pause
    taken = np.bincount((np.array(made) // period - MIDNIGHT // period).astype(np.int64))
    assert taken.max(initial=0) <= fetches


@given(fetches=st.integers(0, 300), cycles=st.integers(1, 300), start=st.floats(0, DAY))
def test_a_day_in_many_runs_gets_its_whole_budget(fetches, cycles, start):
    """Even if each run is short: 10 a day in 24 runs of an hour are 10."""
    pace, made = Pace(fetches=fetches, period=DAY), []

    def spent(_):
        return len(made)

    for at in MIDNIGHT + DAY / cycles * np.arange(cycles):
        until = at + DAY / cycles
        made += [at] * pace.left(spent, start=MIDNIGHT - start, now=at, until=until)
    assert len(made) == fetches


@pytest.mark.slow
def test_the_first_period_counts_from_the_start_of_the_store(store):
    """The next run of one cycle gets the fetches that the last one could not spend."""
    store.append(pa.table({"url": [A]}), now=NOON)
    allowed = [
        Pace.parse("12/day").allowed(store, now=NOON + h * 3600, until=NOON + (h + 1) * 3600)
        for h in (0, 1, 2, 3)
    ]
    assert allowed == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("pace", "every", "error"),
    [
        ("1/s", 3600.0, "not be longer than the period"),
        ("200", 0.0, "from 1s to 1000d"),
        ("200", 30_000 * 7 * DAY, "from 1s to 1000d"),
        ("200", float("nan"), "from 1s to 1000d"),
    ],
)
def test_cycle_lengths_that_break_the_budget_are_refused(pace, every, error):
    with pytest.raises(BadInput, match=error):
        Pace.parse(pace).check(every)


def test_skipped_pages_do_not_count_against_the_budget(store):
    store.append(
        to_visits(
            [
                Response(A + "1", NOON, 200, {}, b"x", 0.1),
                Response(A + "2", NOON, 0, {}, b"", 0.1),  # no answer came
                Response(A + "3", NOON, skipped=True),  # robots.txt forbids it
                Response(A + "5", NOON, 304),  # how long it took was not recorded
                Response(A + "4", NOON - DAY, 200, {}, b"x", 0.1),  # yesterday
            ]
        )
    )
    day = {"now": NOON, "until": MIDNIGHT + DAY}
    assert Pace.parse("10/day").allowed(store, **day) == 7
    assert Pace.parse("40%").allowed(store, **day) == 2


# How far a crawl goes


@pytest.mark.parametrize(
    ("scope", "selected"),
    [
        ({}, [A, A + "docs/x"]),
        ({"reach": "site"}, [A, A + "docs/x", B]),
        ({"reach": "any"}, [A, A + "docs/x", B, "https://c.example/"]),
        ({"only": (A + "docs/*",)}, [A + "docs/x"]),
        ({"only": ("*/docs/*", B + "*"), "reach": "site"}, [A + "docs/x", B]),
        ({"skip": ("*/docs/*",)}, [A]),
        ({"pages_per_host": 3}, [A]),
        ({"pages_per_host": 2}, []),
    ],
)
def test_what_a_scope_selects(scope, selected):
    found = [A, A + "docs/x", B, "https://c.example/"]
    assert Scope(**scope).select(found, ["a.example.org"], {"a.example.org": 2}) == selected


@pytest.mark.parametrize(
    ("path", "is_selected"),
    [
        ("a/b/a/b/a/b", True),
        ("a/b/a/b/a/b/a/b", False),
        ("/".join(map(str, range(16))), True),
        ("/".join(map(str, range(17))), False),
        ("?" + "x" * 1900, True),
        ("?" + "x" * 2000, False),
        ("?next=/a/a/a/a/a", True),
    ],
)
def test_urls_that_look_endless_are_ignored(path, is_selected):
    assert bool(Scope().select([A + path], ["a.example.org"], {})) == is_selected


def test_an_unknown_reach_is_refused():
    with pytest.raises(BadInput, match="host, site, any"):
        Scope(reach="moon")


def test_patterns_with_many_stars_take_no_longer():
    pattern, url = "*a" * 40 + "*b", A + "a" * 1500
    assert Scope(skip=(pattern,)).select([url], ["a.example.org"], {}) == [url]
    assert Scope(skip=(pattern,)).select([url + "b"], ["a.example.org"], {}) == []
    assert Scope(only=("*.html", "*/x?y")).select(
        [A + "x?y", A + "xzy", A + "a.html", A + "ahtml"], ["a.example.org"], {}
    ) == [A + "x?y", A + "a.html"]


# New pages


def found_links(path, links, at=NOON):
    page = "".join(f"<a href={link}>x</a>" for link in links)
    return Response(A + path, at, 200, {"content-type": "text/html"}, page.encode(), 0.1)


def test_seeds_are_canonical_and_unique_and_errors_name_the_line():
    assert read_seeds(["\ufeff# a", "", " HTTPS://a.example.org ", A]) == [A]
    with pytest.raises(BadInput, match="seeds, line 2"):
        read_seeds([A, "mailto:a@b.example"])


@pytest.mark.slow
def test_linked_pages_are_added_within_the_scope(store):
    discovery = Discovery(store, Scope(pages_per_host=5), [A])
    assert store.summary().pages == 0  # nothing is written before it begins
    discovery.start(now=NOON)
    store.append(to_visits([found_links("", ["/1", "/2", "https://c.example/"])]))
    assert discovery.add_linked(now=NOON + 1) == 2
    assert discovery.add_linked(now=NOON + 2) == 0
    redirects = ([A + "1", A + "3"], [A + "2", A + "4"], [A + "1", "https://c.example/"])
    found = pa.concat_tables(
        discovery.filter_visits(redirecting_visit(*pair)) for pair in redirects
    )
    assert found["url"].to_pylist() == [A + "3", A + "1", A + "4", A + "2", A + "1"]
    assert found["problem"].to_pylist() == [None] * 4 + ["leads out of scope"]
    store.append(found, now=NOON + 3)
    assert discovery.add([A + "5"], now=NOON + 4) == 0  # the host has its five


def redirecting_visit(source, target, at=NOON):
    """What an engine returns for a page that redirects: the visit, and the target."""
    moment = pa.array([round(at * 1e6), None], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    status = pa.array([301, None], pa.int16())
    leads_to = pa.array([target, None], pa.string())
    columns = {"url": [source, target], "at": moment, "status": status, "leads_to": leads_to}
    columns["problem"] = pa.nulls(2, pa.string())
    return pa.table(columns).take(pa.array([1, 0]))  # the order of rows says nothing


@pytest.mark.slow
def test_the_host_that_a_seed_redirects_to_is_a_home_host_also_after_a_restart(store):
    hosts = ["a.example.org", "www.example.org", "w3.example.org"]
    first, second, third = (f"https://{host}/" for host in hosts)
    discovery = Discovery(store, Scope(), [first])
    discovery.start(now=NOON)
    for source, target in ((first, second), (second, third), (third, first)):
        store.append(discovery.filter_visits(redirecting_visit(source, target)), now=NOON)
    assert discovery.add([third + "page", B], now=NOON) == 1
    again = Discovery(store, Scope(), [first])
    again.start(now=NOON)
    assert discovery.home_hosts == again.home_hosts == set(hosts)


@pytest.mark.slow
def test_a_redirect_does_not_count_as_a_link_of_the_depth(store):
    discovery = Discovery(store, Scope(depth=1), [A])
    discovery.start(now=NOON)
    store.append(discovery.filter_visits(redirecting_visit(A, A + "home")), now=NOON)
    store.append(to_visits([found_links("home", ["/1"])]))
    assert discovery.add_linked(now=NOON + 1) == 1
    store.append(to_visits([found_links("1", ["/2"])]))
    assert discovery.add_linked(now=NOON + 2) == 0
    assert discovery.add_named([A + "3"], now=NOON) == 0  # at a depth that nobody knows


def test_origins_are_those_of_hosts_in_scope(store):
    store.append(pa.table({"url": [B, "https://c.example/"]}), now=NOON)
    for reach, hosts in (("host", [A]), ("site", [A, B]), ("any", [A, B, "https://c.example/"])):
        discovery = Discovery(store, Scope(reach=reach), [A])
        discovery.start(now=NOON)
        assert discovery.origins() == [host[:-1] for host in hosts]


PRIVATE_HOSTS = ["127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1", "2130706433", "localhost:80"]


def test_links_to_private_addresses_are_not_added(store):
    found = [
        urls.canonical(f"http://{host}/") for host in [*PRIVATE_HOSTS, "x.localhost", "8.8.8.8"]
    ]
    for allow_private, new in ((False, 1), (True, 6)):
        discovery = Discovery(store, Scope(reach="any"), [A], allow_private=allow_private)
        discovery.start(now=NOON)
        assert discovery.add(found, now=NOON) == new


def test_a_depth_is_counted_from_the_seeds(store):
    store.append(
        to_visits([found_links("", ["/1"]), found_links("1", ["/2"]), found_links("2", ["/3"])])
    )
    for depth, new in [(2, 0), (3, 1)]:
        discovery = Discovery(store, Scope(depth=depth), [A])
        discovery.start(now=NOON)
        assert discovery.add_linked(now=NOON + 1) == new
    with pytest.raises(BadInput, match="seeds"):
        Discovery(store, Scope(depth=3)).start(now=NOON)


def test_a_crawl_continues_without_seeds_but_needs_them_to_start(store):
    with pytest.raises(BadInput, match="Give --seeds"):
        Discovery(store, Scope()).start(now=NOON)
    store.append(pa.table({"url": [A, B]}), now=NOON)
    discovery = Discovery(store, Scope())
    discovery.start(now=NOON)
    assert discovery.home_hosts == {"a.example.org", "b.example.org"}
    assert discovery.origins() == [A[:-1], B[:-1]]


# Sitemaps and feeds

DATED = 1_704_067_200.0  # 2024-01-01T00:00Z
URLSET = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<!-- two --><url><loc> https://a.example.org/1 </loc><lastmod>2024-01-01</lastmod></url>
<url><loc>/2?b&amp;c</loc><lastmod>last week</lastmod></url><url><lastmod>2024-01-01</lastmod></url>
<url><loc>mailto:me@a.example</loc></url><url><loc>https://a.example.org/4</loc>
<lastmod>1970-01-01T00:00:00Z</lastmod></url></urlset>"""
NAMED = [
    SitemapEntry(A + "1", DATED + DAY - 1),
    SitemapEntry(A + "2?b&c", None),
    SitemapEntry(A + "4", 0.0),
]
FILES = {
    "sitemap": (URLSET, "urlset", NAMED),
    "packed": (gzip.compress(URLSET), "urlset", NAMED),
    "cut short": (URLSET[:330], "urlset", NAMED[:2]),
    "packed and cut short": (gzip.compress(URLSET)[:-30], "urlset", NAMED[:2]),
    "index": (
        b"<sitemapindex><sitemap><loc>/s.xml</loc></sitemap></sitemapindex>",
        "sitemapindex",
        [SitemapEntry(A + "s.xml", None)],
    ),
    "RSS": (
        b"<rss><channel><link>https://a.example.org/</link><item><link>https://a.example.org/1</link>"
        b"<pubDate>Mon, 01 Jan 2024 01:00:00 +0100</pubDate></item></channel></rss>",
        "rss",
        [SitemapEntry(A + "1", DATED)],
    ),
    "Atom": (
        b"<feed xmlns='http://www.w3.org/2005/Atom'><link href='/feed'/><entry>"
        b"<link rel='self' href='/1.atom'/><link href='/1'/>"
        b"<updated>2024-01-01T00:00:00Z</updated></entry></feed>",
        "feed",
        [SitemapEntry(A + "1", DATED)],
    ),
    "far dates": (
        b"<urlset><url><loc>/1</loc><lastmod>9999-12-31T23:59:59-12:00</lastmod></url>"
        b"<url><loc>/2</loc><lastmod>0001-01-01T00:00:00+12:00</lastmod></url></urlset>",
        "urlset",
        [SitemapEntry(A + "1", 253_402_343_999.0), SitemapEntry(A + "2", -62_135_640_000.0)],
    ),
    "invented": (
        b"<urlset><url><loc>/1</loc></url><url><loc>/2?a=1&b=2</loc></url>"
        b"<url><loc>/3?a=1&amp;b=2</loc></url></urlset>",
        "urlset",
        [SitemapEntry(A + "1", None)],
    ),
    "RSS without links": (
        b"<rss><channel><item><guid>https://a.example.org/1</guid><url>/x</url></item><item>"
        b"<guid isPermaLink='false'>https://a.example.org/2</guid></item><item><guid>3</guid></item>"
        b"</channel></rss>",
        "rss",
        [SitemapEntry(A + "1", None)],
    ),
    "HTML": (b"<html><body><p>Not found</p></body></html>", "html", []),
    "empty": (b"", "", []),
    "binary": (bytes(range(256)), "", []),
}


@pytest.mark.parametrize(("body", "kind", "named"), FILES.values(), ids=FILES)
def test_entries_of_sitemaps_and_feeds(body, kind, named):
    pytest.importorskip("lxml", reason="needs the extra crawl")
    assert read_sitemap(body, A + "sitemap.xml") == (kind, named)


@pytest.mark.slow
def test_entries_and_elements_of_a_sitemap_are_bounded(tmp_path):
    pytest.importorskip("lxml", reason="needs the extra crawl")
    secret = tmp_path / "secret"
    secret.write_text("https://a.example.org/secret")
    bomb = b'<!ENTITY a0 "https://a.example.org/">' + b"".join(
        b'<!ENTITY a%d "%s">' % (i + 1, b"&a%d;" % i * 10) for i in range(12)
    )
    file = b'<!ENTITY f SYSTEM "%s">' % secret.as_uri().encode()
    for entity, name in ((bomb, b"a12"), (file, b"f")):
        body = b"<!DOCTYPE urlset [%s]><urlset><url><loc>&%s;</loc></url></urlset>" % (entity, name)
        assert read_sitemap(body, A)[1] == []
    many = b"<urlset>" + b"<url><loc>/a</loc></url>" * (MAX_ENTRIES + 10) + b"</urlset>"
    assert len(read_sitemap(many, A)[1]) == MAX_ENTRIES
    late = b"<urlset>" + b"<a/>" * MAX_ELEMENTS + b"<url><loc>/a</loc></url></urlset>"
    assert read_sitemap(gzip.compress(late), A) == ("urlset", [])
    assert "500,000 elements" in scan_sitemap(late, A).problem
    assert "50,000 entries" in scan_sitemap(many, A).problem


def test_a_host_whose_time_ends_while_a_file_is_parsed_leaves_room_for_others(monkeypatch):
    pytest.importorskip("lxml", reason="needs the extra crawl")
    module = sys.modules["recrawl.crawl.sitemaps"]
    parsing = threading.Event()
    monkeypatch.setattr(module, "MAX_HOST_SECONDS", 0.05)
    monkeypatch.setattr(module, "read_sitemap", lambda *_: (parsing.wait(10), []))

    class OneFile:
        async def get_file(self, url, *, within):
            return FetchResult(url, NOON, 200, {}, b"", 0.0)

    async def read():
        reader = SitemapReader(None, OneFile(), None)
        try:
            await reader._read_host("a.example", [], ["http://a.example/feed"])
        finally:
            parsing.set()
        for _ in range(MAX_FILES_IN_MEMORY):
            await asyncio.wait_for(reader._memory.acquire(), 5)

    asyncio.run(read())


# Waiting


def test_a_clock_waits_until_a_time_or_until_stopped():
    stops = iter([False, True])
    clock = CrawlClock(NOON)
    clock.wait(NOON + DAY, lambda: next(stops))
    assert next(stops, None) is None
    assert clock.now() < NOON + 3600
    fast = CrawlClock(NOON, speed=DAY)
    fast.wait(NOON + 600, lambda: False)
    assert fast.now() >= NOON + 600


class GivenClock:
    """A clock that shows given times, and moves when it is waited for."""

    def __init__(self, at=NOON):
        self.at = at
        self.real = 0.0
        self.waits = []

    def run(self, seconds):
        """Let time pass; a clock that is set moves `at` alone."""
        self.at += seconds
        self.real += seconds

    def now(self):
        return self.at

    def real_seconds(self, seconds):
        return seconds

    def wait(self, until, stopped):
        self.waits.append(until - self.at)
        if not stopped():
            self.run(until - self.at)


def followed(source):
    return ForwardClock(source, lambda: source.real)


def test_the_time_of_a_crawl_follows_jumps_forward_and_never_goes_back():
    source = GivenClock()
    clock = followed(source)
    source.at += 8 * 3600  # a suspended laptop
    assert clock.now() == NOON + 8 * 3600
    source.at -= 3600  # set back
    assert clock.now() == NOON + 8 * 3600
    source.run(1800)
    assert clock.now() == NOON + 8 * 3600 + 900  # at half the speed, until they agree again
    source.run(2700)
    assert clock.now() == NOON + 8 * 3600 + 2250
    source.run(3600)
    assert clock.now() == source.at
    clock.advance(NOON)
    assert clock.now() == source.at


def test_a_clock_that_was_wrong_and_is_corrected_leaves_the_time_of_the_crawl_right():
    source = GivenClock()
    clock = followed(source)
    for _ in range(3):
        source.at -= 40 * DAY
        assert clock.now() == source.at + 40 * DAY
        source.at += 40 * DAY
        assert clock.now() == source.at, "not twenty days ahead"
    source.at -= 2 * DAY
    clock.now()
    source.at += DAY  # half of a correction
    source.run(60)
    assert clock.now() == NOON + 30


def test_the_speed_of_a_simulated_web_counts_while_its_clock_is_behind():
    source = GivenClock()
    source.real_seconds = lambda seconds: seconds / 1000
    clock = followed(source)
    source.at -= 3600
    clock.now()
    source.at += 1000
    source.real += 1
    assert clock.now() == NOON + 500


def test_a_clock_that_is_set_back_is_reported_but_not_its_corrections(caplog):
    source = GivenClock()
    clock = followed(source)
    for step in (-30, 90, -3600, 60):
        source.at += step
        clock.now()
    assert [record.args for record in caplog.records] == [("60 min",)]


@given(begun=st.integers(0, 10**6), every=st.integers(1, 10**5), late=st.integers(-(10**5), 10**6))
def test_a_cycle_begins_at_a_multiple_and_hardly_late(begun, every, late):
    regular = (begun // every + 1) * every
    start = next_start(float(begun), float(every), now=float(regular + late))
    assert start % every == 0
    assert start >= regular
    if late <= every / 10:
        assert start == regular
    else:
        assert regular + late <= start < regular + late + every


JUMP_AND_RUN = st.tuples(st.floats(-2 * DAY, 2 * DAY), st.floats(0, DAY))


@given(steps=st.lists(JUMP_AND_RUN, max_size=20), ahead=st.floats(0, DAY))
def test_the_time_of_a_crawl_is_never_behind_its_clock(steps, ahead):
    source = GivenClock()
    clock = followed(source)
    clock.advance(NOON + ahead)
    before = clock.now()
    assert before == NOON + ahead
    for step, seconds in steps:
        source.at += step
        source.run(seconds)
        now = clock.now()
        assert now >= max(before, source.at)
        assert now <= max(source.at, before + seconds / 2 + 1e-6)
        before = now


def test_a_small_step_back_does_not_double_the_wait():
    source = GivenClock()
    clock = followed(source)
    source.at -= 1
    clock.wait(NOON + 3600, lambda: False)
    assert sum(source.waits) <= 3601


def test_waiting_ends_at_the_time_also_if_the_clock_is_behind_or_set_back():
    source = GivenClock()
    clock = followed(source)
    clock.wait(NOON + 10, lambda: False)
    assert source.waits == [10.0]
    clock.advance(NOON + 3610)
    clock.wait(NOON + 3710, lambda: False)
    assert source.waits[1:] == [200.0]
    assert clock.now() == NOON + 3710

    class SetBack(GivenClock):
        def wait(self, until, stopped):
            self.waits.append(until - self.at)
            if len(self.waits) == 1:
                self.at -= DAY
                assert stopped()  # or it would wait for a day
            else:
                self.run(until - self.at)

    source = SetBack()
    clock = followed(source)
    clock.wait(NOON + 10, lambda: False)
    assert source.waits == [10.0, 20.0]
    clock.wait(NOON + DAY, lambda: True)
    assert len(source.waits) == 2
