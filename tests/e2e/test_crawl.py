"""Crawls of a living web that changes, misbehaves and goes down, checked by its log."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loopback import serving
from support import hold, write_trace
from typer.testing import CliRunner

from hostile import hostile

pytest.importorskip("scrapy", reason="needs the extra crawl")

import recrawl
from recrawl import registry
from recrawl.cli import app
from recrawl.crawl import CrawlClock, start_crawl
from recrawl.cycle import run_cycle
from recrawl.errors import BadInput, StoreBusy
from recrawl.fetch import LiveEngine
from recrawl.history.memory_signals import SUMS
from recrawl.lab.crawled import judge
from recrawl.lab.metrics import daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.traces import open_trace
from recrawl.lab.web import Behaviours, Outage, serve
from recrawl.lab.worlds import write
from recrawl.model import DAY, Budget, rows_of
from recrawl.page.responses import Response, to_visits
from recrawl.search.index import SearchIndex
from recrawl.search.queries import read_workload

SEED = 3  #: with it some of the hosts misbehave, but not all
SMALL = Path(__file__).parents[1] / "golden" / "small"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Independent pages, on four hosts."""
    folder = tmp_path_factory.mktemp("world") / "poisson"
    write(registry.make("world", "poisson").make(pages=80, days=12, seed=5), folder)
    versions = pq.read_table(folder / "versions.parquet").to_pylist()
    for row in versions:
        page = row["url"].rpartition("/")[2]
        row["url"] = f"https://h{int(page[:2]) % 4}.example/{page}"
        row["links"] = []
    versions.sort(key=lambda row: (row["url"], row["valid_from"]))
    schema = pq.read_schema(folder / "versions.parquet")
    pq.write_table(pa.Table.from_pylist(versions, schema), folder / "versions.parquet")
    return open_trace(folder)


class StepClock:
    """A clock that advances only when the crawl waits, to the start of the next cycle."""

    def __init__(self, web):
        self.web = web

    def now(self):
        return self.web.clock.now()

    def real_seconds(self, seconds):
        return 20.0

    def wait(self, until, stopped):
        if not stopped() and until > self.now():
            self.web.clock.set(until)


class ManualClock:
    """A clock that stands until it is set."""

    def __init__(self):
        self.at = 1.7e9

    def now(self):
        return self.at

    def set(self, at):
        self.at = at


def crawl(web, path, *, seeds=None, **options):
    """The results of the cycles of a crawl in simulated time."""
    defaults = {
        "budget": "20/day",
        "until": web.clock.end,
        "policy": "poisson",
        "clock": StepClock(web),
        "every": DAY,
        "sitemaps": False,
        "proxy": web.proxy,
        "delay": 0.0,
        "timeout": 5.0,
        "backoff": 0.01,
    }
    with start_crawl(path, web.seeds() if seeds is None else seeds, **defaults | options) as made:
        return list(made.run())


def visits(path) -> pa.Table:
    return recrawl.open(path).query(
        'SELECT url, epoch(visits.at) AS "at", status, changed FROM visits JOIN pages USING (page_id) '
        "ORDER BY visits.at, url"
    )


def page_requests(web):
    """Requests for pages, without robots.txt, sitemaps and the admin host."""
    auxiliary = ("/robots.txt", "/sitemap")
    return [
        r for r in web.requests() if r.host != "recrawl.admin" and not r.path.startswith(auxiliary)
    ]


@pytest.mark.parametrize("policy", ["oldest", "poisson", "tx"])
def test_a_live_crawl_gives_the_metrics_of_the_replay(world, tmp_path, policy):
    budget = Budget(fetches=4)
    with (
        serve(world, manual=True) as web,
        recrawl.open(tmp_path / "store", create=True) as store,
        LiveEngine(proxy=web.proxy, delay=0.0, clock=web.clock.now) as engine,
    ):
        store.append(pa.table({"url": web.seeds()}), now=web.clock.now())
        scorer = registry.make("policy", policy)
        for day in range(13):
            web.clock.set(world.window[0] + day * DAY)
            spend = Budget(share=1.0) if day <= 2 else budget
            run_cycle(store, scorer, engine, spend, now=web.clock.now(), ties="id")
    live = judge(world, [tmp_path / "store"], warm_up=3).runs[0]
    run = summary(daily(world, replay(world, policy, budget, ties="id")))
    for metric in ("change_ratio", "freshness", "age_days", "new_links_per_fetch"):
        assert live[metric] == pytest.approx(run[metric], abs=1e-9), metric


def test_the_server_log_shows_that_robots_delays_and_budget_are_kept(tmp_path):
    trace = open_trace(SMALL)
    behaviours = Behaviours(robots_delay=0.12, disallowed=1.0, seed=2)
    with serve(trace, behaviours=behaviours, manual=True) as web:
        start = web.clock.now()
        cycles = crawl(
            web, tmp_path / "store", until=start + 3 * DAY, budget="25/day", every=DAY / 2
        )
        log, forbidden = web.requests(), robots_rules(web)
        requests = page_requests(web)
    by_host = defaultdict(list)
    for request in log:
        by_host[request.host].append(request.real)
    by_host.pop("recrawl.admin", None)
    for times in by_host.values():
        assert all(later - earlier >= 0.12 for earlier, later in pairwise(sorted(times)))
    assert requests
    assert not [r for r in requests if any(r.path.startswith(p) for p in forbidden[r.host])]
    days = np.array([int((r.simulated - start) // DAY) for r in requests])
    assert np.bincount(days).max() <= 25
    # A forbidden page is recorded, so that it backs off, but it is not counted as a fetch.
    assert sum(cycle.fetched for cycle in cycles) == len(requests)
    assert sum(cycle.failed for cycle in cycles) == 0
    assert len(visits(tmp_path / "store")) > len(requests)
    assert {why for c in cycles for why in c.skipped_because} == {"robots.txt forbids it"}
    assert all(sum(c.skipped_because.values()) == c.skipped for c in cycles)
    assert sum(c.skipped for c in cycles) == len(visits(tmp_path / "store")) - len(requests)


def robots_rules(web):
    """The disallowed directories of each host, from its robots.txt."""
    import urllib.request

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": web.proxy}))
    closed = {}
    for host in web.truth.hosts:
        with opener.open(f"http://{host}/robots.txt") as answer:
            lines = answer.read().decode().splitlines()
        closed[host] = [line.split()[1] for line in lines if line.startswith("Disallow: /")]
        assert closed[host]
    return closed


def test_conditional_requests_save_bodies_and_lying_hosts_are_detected(world, tmp_path):
    behaviours = Behaviours(lying=0.5, seed=SEED)
    with serve(world, manual=True, behaviours=behaviours) as web:
        crawl(web, tmp_path / "store", budget="80/day")
        lying = {h for h in web.truth.hosts if behaviours.of(h).validators == "lying"}
        assert 0 < len(lying) < len(web.truth.hosts)
    found = visits(tmp_path / "store").to_pylist()
    honest = [v for v in found if host_of(v["url"]) not in lying]
    assert sum(v["status"] == 304 for v in honest) > len(honest) / 3
    late = [v for v in found if host_of(v["url"]) in lying and v["at"] > world.window[0] + 9 * DAY]
    assert late
    assert not [v for v in late if v["status"] == 304]


def host_of(url):
    return url.split("/")[2]


def test_a_host_that_is_down_for_a_week_comes_back(world, tmp_path):
    [name, *_] = sorted({host_of(url) for url in world.urls})
    with serve(world, manual=True, behaviours=Behaviours(down=(Outage(name, 3, 10),))) as web:
        crawl(web, tmp_path / "store", budget="60/day")
        start = web.clock.begin
    here, others = [], []
    for v in visits(tmp_path / "store").to_pylist():
        day = int((v["at"] - start) // DAY)
        (here if host_of(v["url"]) == name else others).append((day, v["status"]))
    while_down = [status for day, status in here if 3 <= day < 10]
    assert while_down
    assert set(while_down) == {0}
    assert any(status == 200 for day, status in here if day >= 10)
    fine = [status for day, status in others if 3 <= day < 10]
    assert len(fine) > 7 * 30  # the rest of the crawl continues
    assert set(fine) <= {200, 304, 410}


@pytest.mark.slow
@pytest.mark.parametrize("hosts", ["good", "flaky and slow"])
def test_dead_links_cost_few_of_the_changes(tmp_path, hosts):
    """The same web with and without links to pages that do not exist, ten times as many as do."""
    found, failed = {}, {}
    behaviours = Behaviours()
    if hosts != "good":
        behaviours = Behaviours(failing=0.4, retry_after=0, slow=0.4, latency=0.05, seed=SEED)
    for links in ("live", "dead"):
        folder = tmp_path / links
        write(registry.make("world", "hubs").make(pages=300, days=30, seed=5), folder)
        if links == "live":
            rows = pq.read_table(folder / "versions.parquet").to_pylist()
            known = {row["url"] for row in rows}
            for row in rows:
                row["links"] = [url for url in row["links"] if url in known]
            schema = pq.read_schema(folder / "versions.parquet")
            pq.write_table(pa.Table.from_pylist(rows, schema), folder / "versions.parquet")
        with serve(open_trace(folder), manual=True, behaviours=behaviours) as web:
            cycles = crawl(web, tmp_path / f"store-{links}", budget="60/day")
        found[links] = sum(cycle.changed for cycle in cycles)
        failed[links] = [cycle.failed for cycle in cycles]
    assert cycles[-1].pages > 1900
    if hosts == "good":
        assert max(failed["live"]) == 0
        assert max(failed["dead"]) <= 12, "no more than the share for new pages"
    else:
        assert max(failed["live"]) > 0
    assert found["dead"] > 0.95 * found["live"]


@pytest.mark.slow
def test_a_large_host_leaves_room_for_small_ones(tmp_path):
    """A host of 300 pages and 5 of 4: with 40 fetches a day all get some, within their delay."""
    sizes = {"large.example": 300} | {f"small{i}.example": 4 for i in range(5)}
    versions = [
        (f"https://{host}/{page}", 0, 200, f"{host} {page}", [])
        for host, pages in sizes.items()
        for page in range(pages)
    ]
    from recrawl.lab.trace import read_trace

    trace = read_trace(write_trace(tmp_path / "trace", versions))
    with serve(trace, manual=True) as web:
        until = web.clock.now() + 2.5 * DAY
        crawl(web, tmp_path / "store", budget="40/day", until=until)
    days = defaultdict(Counter)
    for visit in visits(tmp_path / "store").to_pylist():
        days[int((visit["at"] - web.clock.begin) // DAY)][host_of(visit["url"])] += 1
    assert len(days) == 3
    for hosts in days.values():
        assert hosts["large.example"] <= 32
        assert all(hosts[f"small{i}.example"] for i in range(5))


def test_new_pages_removed_pages_and_redirects(tmp_path):
    from recrawl.lab.trace import read_trace

    home = "https://a.example/"
    versions = [
        (home, 0, 200, "home", [home + "old"]),
        (home, 2.5, 200, "home, and more", [home + "old", home + "born"]),
        (home + "born", 2.5, 200, "new", []),
        (home + "old", 0, 200, "old", []),
        (home + "old", 4.5, 410, None, []),
        (home + "unlinked", 0, 200, "named by the sitemap alone", []),
    ]
    trace = read_trace(write_trace(tmp_path / "trace", versions))
    with serve(trace, manual=True) as web:
        until = web.clock.now() + 7 * DAY
        home = {"seeds": ["http://a.example/"], "until": until}
        crawl(web, tmp_path / "store", sitemaps=True, budget="4/day", **home)
    found = visits(tmp_path / "store").to_pylist()
    seen = {v["url"]: v["status"] for v in found}
    assert seen["http://a.example/born"] in (200, 304)
    assert seen["http://a.example/unlinked"] in (200, 304)
    assert seen["http://a.example/old"] == 410
    with serve(trace, manual=True, behaviours=Behaviours(redirects=1.0)) as web:
        home["until"] = web.clock.now() + 3 * DAY
        crawl(web, tmp_path / "moved", budget="8/day", **home)
    by_url = defaultdict(set)
    for v in visits(tmp_path / "moved").to_pylist():
        by_url[v["url"]].add(v["status"])
    assert by_url["http://a.example/"] == {301}
    assert 200 in by_url["http://a.example/?moved"]


def test_sitemaps_are_trusted_on_hosts_where_they_were_right(world, tmp_path):
    behaviours = Behaviours(restamped=0.5, seed=SEED)
    with serve(world, manual=True, behaviours=behaviours) as web:
        until = web.clock.now() + 9 * DAY
        crawl(web, tmp_path / "store", until=until, budget="80/day", sitemaps=True)
        restamping = {h for h in web.truth.hosts if behaviours.of(h).lastmod == "restamped"}
    store = recrawl.open(tmp_path / "store")
    hosts = {r["host_id"]: r["host"] for r in store.query("FROM hosts").to_pylist()}
    heard = store.signals()
    host = store.pages().host[rows_of(heard.page_id, store.pages().page_id)]
    checked = {"restamped": 0, "true": 0, "found": 0}
    for number in np.unique(host).tolist():
        sums = {name: getattr(heard, name)[host == number].sum() for name in SUMS}
        lying = hosts[number] in restamping
        if sums["quiet_days"] > 20:
            checked["restamped" if lying else "true"] += 1
            assert (sums["false_claims"] / sums["quiet_days"] > 0.5) == lying
        if sums["changed"] > 10:
            checked["found"] += 1
            assert sums["missed"] / sums["changed"] < 0.2
    assert all(checked.values()), checked


def known_after(site, path, seeds, cycles, **scope):
    """The pages that a crawl of a site knows after some cycles."""
    with recrawl.open(path, create=True) as store:
        with start_crawl(
            store,
            seeds,
            budget=9,
            policy="oldest",
            clock=StepClock(SimpleNamespace(clock=ManualClock())),
            proxy=site.url(),
            **{"delay": 0.0} | scope,
        ) as made:
            list(made.run(cycles))
        return set(store.query("SELECT url FROM pages")["url"].to_pylist())


def test_sitemaps_are_bounded_and_may_only_name_pages_of_their_host(tmp_path):
    """An index that names itself, hundreds of files, another host; entries for another host."""
    named = ["/index.xml", *(f"/{i}.xml" for i in range(200)), "http://evil.example/0.xml"]
    index = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in named)
    pages = {}
    for host, other in (("a", "b"), ("b", "a")):
        entries = f"<url><loc>/own</loc></url><url><loc>http://{other}.example/planted</loc></url>"
        files = {
            "/robots.txt": "Sitemap: /index.xml\nSitemap: /index.xml",
            "/index.xml": f"<sitemapindex>{index}</sitemapindex>",
            "/0.xml": f"<urlset>{entries}</urlset>",
            "/": "<p>home <a href=/feed>news</a>",
            "/feed": f"<feed><entry><link href='http://{other}.example/fed'/></entry></feed>",
        }
        pages |= {f"http://{host}.example{path}": text.encode() for path, text in files.items()}
    seeds = ["http://a.example/", "http://b.example/"]
    with serving(pages) as site:
        known = known_after(site, tmp_path / "store", seeds, cycles=2)
    requests = Counter(site.paths())
    assert requests["http://a.example/feed"] >= 1
    assert requests["http://a.example/robots.txt"] == requests["http://a.example/index.xml"] == 1
    files_of = Counter(host_of(url) for url in site.paths() if url.endswith(".xml"))
    assert files_of == {"a.example": 50, "b.example": 50}
    assert {"http://a.example/own", "http://b.example/own"} <= known
    assert not [url for url in known if url.endswith(("planted", "fed"))]


def test_feeds_of_all_hosts_in_scope_are_read(tmp_path):
    pages = {
        "http://a.org/": b"<p>see <a href=http://blog.a.org/>blog</a>",
        "http://blog.a.org/": b"<p>see <a href=/feed>feed</a>",
        "http://blog.a.org/feed": b"<feed><entry><link href='/fed'/></entry></feed>",
    }
    with serving(pages) as site:
        known = known_after(site, tmp_path / "store", ["http://a.org/"], cycles=4, reach="site")
    assert "http://blog.a.org/fed" in known


def test_a_slow_sitemap_delays_no_page_of_another_host_and_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["recrawl.crawl.sitemaps"], "MAX_HOST_SECONDS", 2.0)
    fetched, waited = threading.Event(), []

    def slow(handler):
        waited.append(fetched.wait(20))  # until the page of the other host was requested
        time.sleep(6)
        return b"<urlset/>"

    def page(handler):
        fetched.set()
        return b"<p>home"

    pages = {
        "http://slow.example/robots.txt": slow,
        "http://fast.example/": page,
        "http://fast.example/sitemap.xml": b"<urlset><url><loc>/found</loc></url></urlset>",
    }
    seeds = ["http://slow.example/", "http://fast.example/"]
    with serving(pages) as site:
        known = known_after(site, tmp_path / "store", seeds, cycles=1, timeout=30.0, deadline=3.0)
    assert waited == [True]
    assert "http://fast.example/found" in known


def test_a_crawl_stays_in_scope(tmp_path):
    trace = open_trace(SMALL)
    with serve(trace, manual=True) as web:
        home = web.seeds()[0]
        until = web.clock.now() + 5 * DAY
        crawl(web, tmp_path / "a", seeds=[home], until=until, budget="50/day", discover=0.5)
        assert {host_of(v["url"]) for v in visits(tmp_path / "a").to_pylist()} == {host_of(home)}
    with serve(trace, manual=True) as web:
        scope = {"reach": "any", "depth": 0}
        crawl(web, tmp_path / "b", seeds=[home], until=until, budget="50/day", **scope)
        assert {v["url"] for v in visits(tmp_path / "b").to_pylist()} == {home}


def test_a_hostile_site_does_not_affect_the_rest_of_the_crawl(tmp_path):
    """Endless calendars, bombs, drips, loops and traps: some visits fail, and nothing hangs."""
    paths = ("drip", "endless", "headers", "bomb", "loop", "to-loopback", "to-metadata", "many")
    with hostile("binary") as site, recrawl.open(tmp_path / "store", create=True) as store:
        seeds = [f"{site.url}/{path}" for path in (*paths, "close", "calendar/2026/1", "ok/1")]
        with start_crawl(
            store,
            seeds,
            budget=30,
            pages_per_host=40,
            policy="oldest",
            clock=CrawlClock(1.7e9, speed=1e6),
            every=DAY,
            sitemaps=False,
            discover=1.0,
            allow_private=True,
            delay=0.0,
            timeout=1.0,
            deadline=60.0,
            backoff=0.01,
            max_bytes=2_000_000,
        ) as made:
            cycles = list(made.run(cycles=3))
        assert cycles[-1].pages <= 40 + len(seeds)
        status = {
            url.removeprefix(site.url): code
            for url, code in zip(
                *store.query(
                    "SELECT url, max(status) AS s FROM visits JOIN pages USING (page_id) GROUP BY url"
                )
                .to_pydict()
                .values(),
                strict=True,
            )
        }
        hosts = set(store.query("SELECT host FROM hosts")["host"].to_pylist())
    assert status["/ok/1"] == 200
    assert status["/many"] == 200
    for path in ("drip", "endless", "headers", "bomb", "close"):
        assert status["/" + path] == 0, path
    assert "169.254.169.254" not in hosts
    assert sum("calendar" in path for path in status) <= 40


def test_ctrl_c_ends_a_crawl_cleanly_and_lines_are_json(tmp_path):
    seeds = tmp_path / "seeds.txt"
    with serve(open_trace(SMALL), speed=DAY / 0.5) as web:
        seeds.write_text("# all pages\n\n" + "".join(url + "\n" for url in web.seeds()))
        words = [
            "crawl",
            tmp_path / "store",
            "--seeds",
            seeds,
            "--budget",
            "40/day",
            "--every",
            "1d",
        ]
        words += ["--proxy", web.proxy, "--simulated", "--delay", "0s", "--no-sitemaps"]
        running = subprocess.Popen(
            [sys.executable, "-m", "recrawl", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        first = [json.loads(running.stdout.readline()) for _ in range(3)]
        running.send_signal(signal.SIGINT)
        rest, errors = running.communicate(timeout=30)
    assert running.returncode == 0, errors
    assert "in flight" in errors
    assert "Traceback" not in errors
    cycles = first + [json.loads(line) for line in rest.splitlines()]
    assert sum(cycle["fetched"] for cycle in cycles) == len(visits(tmp_path / "store"))
    assert [cycle["cycle"] for cycle in cycles] == list(range(1, len(cycles) + 1))


def test_a_crawl_with_the_user_centric_policy(world, tmp_path):
    text = world.texts(np.arange(40), np.full(40, world.window[0])).to_pylist()
    file = tmp_path / "q.tsv"
    file.write_text("".join(f"{word}\t1\n" for words in text for word in words.split()[:2]))
    policy = registry.make("policy", f"user-centric:queries={file}")
    with serve(world, manual=True) as web:
        cycles = crawl(web, tmp_path / "store", policy=policy, discover=0.5)
    assert sum(cycle.changed for cycle in cycles) > 0
    with recrawl.open(tmp_path / "store") as store:
        pages = store.pages()
        assert len(SearchIndex(store)) > 0  # there is an index from the first copy on
        score = policy.score(pages, web.clock.now())
    assert np.isfinite(score[pages.n_visits > 0]).all()
    assert policy.impact_.gain.max() > 0


def test_a_crawl_from_a_seed_scores_pages_by_the_links_that_it_finds(tmp_path):
    urls = [f"http://a.example/{i}" for i in range(5)]
    # Page i links to all pages after it: i pages link to page i.
    rows = [(urls[i], 0, 200, f"cat number {i}", urls[i + 1 :]) for i in range(5)]
    trace = open_trace(write_trace(tmp_path / "trace", rows))
    (tmp_path / "q.tsv").write_text("cat\t1\n")
    policy = f"user-centric:queries={tmp_path / 'q.tsv'},scoring=inlinks"
    with serve(trace, manual=True) as web:
        crawl(web, tmp_path / "store", seeds=urls[:1], policy=policy, discover=0.5)
    with recrawl.open(tmp_path / "store") as store:
        impact = SearchIndex(store).impact(read_workload(tmp_path / "q.tsv"), "inlinks")
        pages = store.query("SELECT url, page_id FROM pages").to_pydict()
    page = dict(zip(pages["url"], pages["page_id"], strict=True))
    ranked = [page[url] for url in urls]
    assert impact.page_score[ranked].tolist() == [0, 1, 2, 3, 4]
    assert (np.diff(impact.visibility[ranked]) > 0).all()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--objective", "search"], "needs queries"),
        (["--budget", "many"], "A crawl's budget must be fetches"),
        (["--budget", "5/fortnight"], "try 500/day"),
        (["--reach", "moon"], "reach must be one of"),
        ([], "Give --seeds"),
        (["--simulated", "--proxy", "http://127.0.0.1:9"], "start one with `recrawl web`"),
        (["--simulated"], "--simulated needs the proxy"),
        (["--until", "some day"], "A time must be ISO 8601"),
        (["--every", "0s"], "from 1s to 1000d"),
        (["--budget", "1/s"], "not be longer than the period"),
        (["--seeds", __file__, "--depth", "3"], "--seeds, line 1"),
        (["--proxy", "ftp://a.example"], "--proxy must be http://host:port"),
        (["--contact", "a\nb"], "--contact must be plain ASCII"),
        (["--reach", "moon"], "--reach must be one of"),
    ],
)
def test_invalid_options_are_refused(tmp_path, words, error):
    words = ["crawl", str(tmp_path / "store"), "--allow-private", *words]
    done = CliRunner().invoke(app, words)
    text = done.output + done.stderr + str(done.exception)
    assert done.exit_code != 0
    assert error in text
    assert "--seeds" not in words or not (tmp_path / "store").exists()
    assert not isinstance(done.exception, AttributeError | KeyError | TypeError)


def start_at(store, clock, **options):
    """A crawl with a manual clock."""
    clock = StepClock(SimpleNamespace(clock=clock))
    return start_crawl(store, policy="oldest", clock=clock, allow_private=True, **options)


def test_own_validators_are_used(tmp_path):
    def none(pages):
        return [None] * len(pages), [None] * len(pages)

    seeds = ["http://127.0.0.1/"]
    with start_at(tmp_path / "store", ManualClock(), seeds=seeds, validators=none) as made:
        assert made.engine.validators is none


def test_a_store_with_a_visit_up_to_a_day_ahead_is_crawled_on(tmp_path):
    """The clock begins at that visit, so no visit is older than the last one of its page."""
    clock = ManualClock()
    with serving({"/": b"<p>home"}) as site, recrawl.open(tmp_path / "store", create=True) as store:
        ahead = clock.at + DAY - 1
        store.append(to_visits([Response(site.url(), ahead, 200, {}, b"x")]))
        with start_at(store, clock, delay=0.0, sitemaps=False, budget=1, every=DAY) as made:
            cycles = list(made.run(3))
        assert [cycle.fetched for cycle in cycles] == [1, 1, 1]
        found = store.query('SELECT epoch("at") AS "at" FROM visits ORDER BY "at"')["at"]
        at = found.to_pylist()
        assert at[0] == ahead
        assert len(at) == 4
        assert clock.at > at[-1] - DAY + 1  # it catches up
        clock.at = at[-1] - DAY - 1
        with pytest.raises(BadInput, match="Correct the clock"), start_at(store, clock):
            pass


def test_an_archive_that_cannot_be_written_fails_before_the_first_request(tmp_path):
    (tmp_path / "file").write_text("no folder")
    path = tmp_path / "store"
    with recrawl.open(path, create=True) as store:
        store.append(pa.table({"url": ["http://a.example/"]}), now=1e9)
        with (
            pytest.raises(BadInput, match="archive must be a folder"),
            start_at(store, ManualClock(), warc=tmp_path / "file"),
        ):
            pass
        with start_at(store, ManualClock(), warc=tmp_path / "archive"):  # the engine was released
            assert list((tmp_path / "archive").iterdir())


def test_a_store_that_another_process_writes_to_is_refused(tmp_path):
    recrawl.open(tmp_path / "store", create=True)
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(str(tmp_path / "store"), ready, done))
    holder.start()
    assert ready.wait(30)
    try:
        with (
            recrawl.open(tmp_path / "store") as store,
            pytest.raises(StoreBusy),
            start_at(store, ManualClock()),
        ):
            pass
    finally:
        done.set()
        holder.join(30)


def test_a_crawl_of_the_web_needs_a_contact(tmp_path):
    done = CliRunner().invoke(app, ["crawl", str(tmp_path / "store")])
    assert str(done.exception).startswith("--contact must be a URL or an e-mail address")
    assert "pass --contact" in str(done.exception)


CRAWL_UNTIL_KILLED = """
import sys, time
from recrawl.crawl import start_crawl
options = {"budget": 5, "delay": 0.0, "allow_private": True, "sitemaps": False}
with start_crawl(sys.argv[1], [sys.argv[2]], **options) as made:
    for cycle in made.run(1):
        print("done", flush=True)
        time.sleep(60)
"""


def test_a_crawl_that_was_killed_keeps_the_pause_that_a_host_asked_for(tmp_path):
    words = [sys.executable, "-c", CRAWL_UNTIL_KILLED, tmp_path / "store"]
    with serving({"/": (503, {"Retry-After": "3000"}, b"")}) as site:
        killed = subprocess.Popen([*words, site.url()], stdout=subprocess.PIPE)
        assert killed.stdout.readline() == b"done\n"
        killed.kill()
        killed.communicate()
        before = len(site.log)
        assert site.paths() == ["/robots.txt", "/"]
        with recrawl.open(tmp_path / "store") as store:
            store.append(pa.table({"url": [site.url("/other")]}), now=1.7e9)
            options = {"budget": 5, "delay": 0.0, "allow_private": True, "sitemaps": False}
            with start_crawl(store, deadline=60, **options) as made:
                [cycle] = made.run(1)
        assert len(site.log) == before
    assert (cycle.planned, cycle.fetched) == (1, 0)


def test_a_crawl_killed_thirty_times_continues_without_loss(tmp_path):
    """Each start is a fork of a process with all imports, so that thirty take a minute."""
    driver = Path(__file__).with_name("killed_crawl.py")
    done = subprocess.run(
        [sys.executable, driver, tmp_path / "store", SMALL],
        capture_output=True,
        text=True,
        timeout=280,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["kills"] == 30
    assert report["lost"] == 0
    assert report["most_a_day"] <= 40
    assert report["acknowledged"] > 0
