"""Real Scrapy projects on a small web that changes between runs."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import recrawl

pytest.importorskip("scrapy", reason="needs the extra crawl")

SPIDER = """
import scrapy


class SiteSpider(scrapy.Spider):
    name = "site"
    allowed_domains = ["127.0.0.1"]
    start_urls = ["{start}"]

    def parse(self, response):
        yield {{"page": response.url, "by": "parse"}}
        if isinstance(response, scrapy.http.HtmlResponse):
            yield from response.follow_all(css="a")
"""
REVISIT = """
    def revisit(self, url):
        return scrapy.Request(url, callback=self.again)

    def again(self, response):
        yield {"page": response.url, "by": "again"}
"""
TWO_CALLBACKS = """
import scrapy


class SiteSpider(scrapy.Spider):
    name = "site"
    start_urls = ["{start}"]

    def parse(self, response):
        for link in response.css("a"):
            name = link.css("::text").get()
            yield response.follow(link, self.parse_item, cb_kwargs={{"name": name}})

    def parse_item(self, response, name):
        yield {{"page": response.url, "by": name}}
"""
CRAWL_SPIDER = """
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class SiteSpider(CrawlSpider):
    name = "site"
    start_urls = ["{start}"]
    rules = (
        Rule(LinkExtractor(allow="/list"), follow=True),
        Rule(LinkExtractor(allow="/item"), callback="parse_item", cb_kwargs={{"kind": "item"}}),
    )

    def parse_item(self, response, kind):
        text = response.meta["link_text"]
        yield {{"page": response.url, "by": f"{{kind}} {{text}}"}}
"""
ADDON = 'ADDONS = {"recrawl.adapters.scrapy.Addon": 300}\nRECRAWL_STORE = "store"\n'
HASTE = "DOWNLOAD_DELAY = 0\nCONCURRENT_REQUESTS_PER_DOMAIN = 8\n"
HASTE += "TELNETCONSOLE_ENABLED = REMOTE_CONTROL_ENABLED = False\n"


@dataclass
class Site:
    """Pages by path: a text to serve, a status, None for a connection that breaks, or a list."""

    pages: dict[str, str | int | list[str | int | None] | None] = field(default_factory=dict)
    log: list[tuple[str, str | None]] = field(default_factory=list)  #: path, If-None-Match
    root: str = ""

    def paths(self) -> list[str]:
        return sorted(path for path, _ in self.log if not path.endswith("/robots.txt"))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        site = self.server.site
        site.log.append((self.path, self.headers["If-None-Match"]))
        page = site.pages.get(self.path, 404)
        if isinstance(page, list):
            page = page.pop(0) if len(page) > 1 else page[0]
        if self.path.startswith("/endless/"):
            number = int(self.path.rpartition("/")[2])
            page = "".join(f"<a href=/endless/{3 * number + i}>on</a>" for i in (1, 2, 3))
        if page is None:
            self.close_connection = True
        elif isinstance(page, int):
            self.answer(page, {"Location": "/target"} if page == 302 else {}, b"an error page")
        else:
            self.page(page)

    def page(self, text):
        etag = f'"{len(text)}-{hash(text)}"'
        if self.headers["If-None-Match"] == etag:
            return self.answer(304, {"ETag": etag}, b"")
        if self.path == "/data":
            return self.answer(200, {"Content-Type": "application/pdf"}, b"%PDF-" + text.encode())
        if self.path.endswith("/robots.txt"):
            return self.answer(200, {"Content-Type": "text/plain"}, text.encode())
        body = gzip.compress(f"<title>T</title><p>{text}".encode())
        headers = {"Content-Type": "text/html", "ETag": etag, "Content-Encoding": "gzip"}
        return self.answer(200, headers, body)

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A killed crawl leaves broken connections."""


@pytest.fixture(scope="module")
def site():
    server = Server(("127.0.0.1", 0), Handler)
    rows = server.site = Site(root=f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield rows
    server.shutdown()
    server.server_close()


#: The engine looks for due pages when something happens, or else every so many seconds.
IMPATIENT = "from scrapy.core.engine import ExecutionEngine as _Engine\n"
IMPATIENT += "_Engine._SLOT_HEARTBEAT_INTERVAL = 1.0\n"


def scrapy(folder, *arguments):
    source = str(Path(recrawl.__file__).parent.parent)
    command = [sys.executable, "-m", "scrapy", *arguments]
    env = {**os.environ, "PYTHONPATH": source}
    return subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    """A project of `scrapy startproject`."""
    folder = tmp_path_factory.mktemp("blank")
    output, _ = scrapy(folder, "startproject", "shop").communicate(timeout=60)
    assert (folder / "shop/scrapy.cfg").exists(), output
    return folder / "shop"


def project(blank, folder, start, settings, methods="", spider=SPIDER):
    """A new project with a spider and the settings added."""
    shutil.copytree(blank, folder / "shop")
    (folder / "shop/shop/spiders/site.py").write_text(spider.format(start=start) + methods)
    with (folder / "shop/shop/settings.py").open("a") as file:
        file.write(HASTE + settings)
    return folder / "shop"


def crawl(folder, *settings):
    run = scrapy(folder, "crawl", "site", *(word for s in settings for word in ("-s", s)))
    output, _ = run.communicate(timeout=90)
    assert run.returncode == 0, output
    assert "/recrawl/adapters/" not in output, output  # no traceback in our code
    assert "[numba" not in output
    assert "[faiss" not in output
    return output


def items(folder):
    """The items of the last crawl, sorted."""
    lines = (folder / "out.jsonl").read_text().splitlines()
    return sorted((item["page"], item["by"]) for item in map(json.loads, lines))


OUT = 'FEEDS={"out.jsonl":{"format":"jsonlines","overwrite":true}}'


@pytest.fixture(scope="module")
def shop(tmp_path_factory, blank, site):
    """A project that has crawled the site twice with the observer; the site changed in between."""
    folder = tmp_path_factory.mktemp("scrapy")
    site.pages |= {
        "/robots.txt": "User-agent: *\nDisallow: /secret\n",
        "/": "Home. <a href=/a>a</a> <a href=/b>b</a> <a href=/c rel=nofollow>c</a>"
        "<a href=/moved>m</a><a href=/gone>g</a><a href=/broken>x</a><a href=/secret>s</a>"
        "<a href=/data>d</a>",
        "/a": "Page a, as it always was.",
        "/b": "Page b, soon to go.",
        "/c": "Page c.",
        "/secret": "Not for robots.",
        "/data": "some data",
        "/target": "Where the moved one went.",
        "/moved": 302,
        "/broken": None,
    }
    shop = project(
        blank, folder, site.root + "/", ADDON,
    )  # fmt: skip
    crawl(shop)
    first = site.paths()
    site.log.clear()
    site.pages["/b"] = 410
    site.pages["/"] += "<a href=/new>new</a>"
    site.pages["/new"] = "A new page."
    crawl(shop)
    return shop, first


def now():
    return time.time()  # noqa: TID251  # the crawls run on the machine's clock


def visits(shop, site, condition="true"):
    rows = recrawl.open(shop / "store").query(
        "SELECT url, status, changed, flipped, new_internal, internal_links, visits.digest_of, text "
        "FROM visits JOIN pages USING (page_id) LEFT JOIN contents USING (page_id) "
        f'WHERE {condition} ORDER BY visits."at"'
    )
    return [{**row, "url": row["url"].removeprefix(site.root)} for row in rows.to_pylist()]


def test_a_plain_spider_fills_the_store(shop, site):
    folder, first = shop
    rows = visits(folder, site)
    seen = {}
    for row in rows:
        seen.setdefault(row["url"], []).append(row["status"])
    assert first.count("/broken") > 2  # Scrapy tried again; it is still one visit
    assert seen == {
        "/": [200, 200],
        "/a": [200, 200],
        "/b": [200, 410],
        "/c": [200, 200],
        "/data": [200, 200],
        "/moved": [302, 302],
        "/target": [200, 200],
        "/gone": [404, 404],
        "/broken": [0, 0],
        "/new": [200],
    }  # neither robots.txt, nor what it forbids


def test_changes_and_links_are_recorded(shop, site):
    folder, _ = shop
    rows = visits(folder, site)
    again = {row["url"]: row for row in rows[-10:]}
    assert [again[page]["changed"] for page in ("/", "/a", "/data", "/b")] == [
        True, False, False, None,
    ]  # fmt: skip
    assert again["/b"]["flipped"]
    assert (again["/"]["internal_links"], again["/"]["new_internal"]) == (9, 1)
    assert again["/data"]["digest_of"] == "bytes"
    assert again["/a"]["text"] == "Page a, as it always was."  # it came gzipped
    links = recrawl.open(folder / "store").query("SELECT target, nofollow FROM links")
    output = dict(zip(links["target"].to_pylist(), links["nofollow"].to_pylist(), strict=True))
    assert output[site.root + "/c"]
    assert not output[site.root + "/a"]


def test_a_batch_fetches_the_plan_and_new_pages(shop, site):
    folder, _ = shop
    store = recrawl.open(folder / "store")
    before = store.summary().visits
    planned = recrawl.plan(store, 3, now=now()).urls()
    paths = {url.removeprefix(site.root) for url in planned}
    assert "/" in paths  # it is the only one that was seen to change
    site.pages["/"] += " <a href=/fresh>fresh</a>"
    site.pages["/fresh"] = "Never seen before."
    site.log.clear()
    crawl(folder, "RECRAWL_BUDGET=3", "RECRAWL_CONDITIONAL=1")
    assert site.paths() == sorted([*paths, "/fresh"])
    rows = visits(folder, site)[before:]
    statuses = {row["url"]: row["status"] for row in rows}
    assert statuses.pop("/") == statuses.pop("/fresh") == 200
    unchanged = [row for row in rows if row["url"] in statuses]
    assert {(row["status"], row["changed"]) for row in unchanged} <= {(304, False), (200, False)}
    assert 304 in statuses.values()
    sent = {path: tag for path, tag in site.log if path in statuses and path != "/data"}
    assert all(sent.values())


def test_a_planned_page_that_robots_txt_forbids_is_recorded_as_failed(shop, site):
    folder, _ = shop
    site.pages["/robots.txt"] += "Disallow: /\n"
    site.log.clear()
    crawl(folder, "RECRAWL_BUDGET=2")
    site.pages["/robots.txt"] = "User-agent: *\n"
    assert site.paths() == []
    plan = recrawl.plan(recrawl.open(folder / "store"), 100, now=now())
    failing = visits(folder, site, "pages.failures > 0 AND status = 0 AND url NOT LIKE '%broken'")
    assert len(failing) == 2
    assert not {site.root + row["url"] for row in failing} & set(plan.urls())


@pytest.mark.parametrize("spider", [TWO_CALLBACKS, CRAWL_SPIDER], ids=["two", "rules"])
def test_a_revisit_gives_the_items_of_the_first_visit(tmp_path, blank, site, spider):
    site.pages |= {"/robots.txt": "User-agent: *\n", "/list": "<a href=/item/1>one</a>"}
    site.pages |= {"/shop": "<a href=/item/1>one</a> <a href=/item/2>two</a>"}
    site.pages |= {"/item/1": "item 1", "/item/2": "item 2", "/item/3": "item 3"}
    shop = project(blank, tmp_path, site.root + "/shop", ADDON, spider=spider)
    crawl(shop, OUT)
    first = items(shop)
    assert len(first) == 2
    site.pages["/shop"] += "<a href=/item/3>three</a>"
    site.log.clear()
    output = crawl(shop, OUT, "RECRAWL_BUDGET=100", "RECRAWL_POLICY=oldest")
    assert site.paths() == ["/item/1", "/item/2", "/item/3", "/shop"]
    new = (site.root + "/item/3", "three" if spider is TWO_CALLBACKS else "item three")
    assert items(shop) == [*first, new]
    for stat, value in (("planned", 3), ("revisited", 3), ("dropped_known", 3), ("new_pages", 1)):
        assert f"'recrawl/{stat}': {value}," in output
    for stat, value in (("recorded", 4), ("changed", 1), ("unchanged", 2), ("not_kept", 0)):
        assert f"'recrawl/{stat}': {value}," in output


def test_commands_that_do_not_crawl_neither_plan_nor_record(tmp_path, blank, site):
    site.pages |= {"/robots.txt": "User-agent: *\n", "/shop": "<a href=/item/1>one</a>"}
    page = site.root + "/shop"
    shop = project(
        blank, tmp_path, page, ADDON + 'RECRAWL_BUDGET = 3\nRECRAWL_EVERY = "1d"\n'
    )  # fmt: skip
    named = "--spider=site"
    for words in (["fetch"], ["parse", named], ["shell", named, "-c", "response.text"]):
        site.log.clear()
        run = scrapy(shop, *words, page)
        output, _ = run.communicate(timeout=60)
        assert run.returncode == 0, output
        assert "/item/1" in output
        assert site.paths() == ["/shop"]
    assert not (shop / "store").exists()


def test_a_misspelt_setting_ends_the_run_with_the_right_name(tmp_path, blank, site):
    shop = project(blank, tmp_path, site.root + "/shop", ADDON)
    run = scrapy(shop, "crawl", "site", "-s", "RECRAWL_BUGDET=3")
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "Did you mean RECRAWL_BUDGET?" in output
    assert not (shop / "store").exists()


def test_cycles_jobdir_throttling_cache_proxy_and_retries_together(tmp_path, blank, site):
    """The site answers as a proxy of a host that does not exist."""
    root = "http://shop.example"
    site.pages |= {f"{root}/robots.txt": "User-agent: *\n", f"{root}/item/1": "item 1"}
    site.pages |= {f"{root}/": "<a href=/item/1>one</a> <a href=/flaky>two</a>"}
    site.pages |= {f"{root}/flaky": [503, None, "item 2"]}
    shop = project(
        blank, tmp_path, root + "/", IMPATIENT + ADDON + "AUTOTHROTTLE_ENABLED = True\n"
        'AUTOTHROTTLE_START_DELAY = 0\nHTTPCACHE_ENABLED = True\nHTTPCACHE_IGNORE_HTTP_CODES = [503]\nJOBDIR = "job"\n'
        'RECRAWL_BUDGET = 2\nRECRAWL_EVERY = "2s"\nRECRAWL_POLICY = "oldest"\n',
        spider=TWO_CALLBACKS,
    )  # fmt: skip
    os.environ["http_proxy"] = site.root
    try:
        site.log.clear()
        crawl(shop, OUT, "CLOSESPIDER_ITEMCOUNT=2", "RECRAWL_EVERY=1d")
        assert site.paths() == [f"{root}/", *[f"{root}/flaky"] * 3, f"{root}/item/1"]
        first = items(shop)
        assert [by for _, by in first] == ["two", "one"]
        site.log.clear()
        crawl(shop, OUT, "CLOSESPIDER_ITEMCOUNT=4")
    finally:
        del os.environ["http_proxy"]
    revisits = site.paths()  # none from the cache
    assert set(items(shop)) == set(first)
    assert len(items(shop)) == len(revisits) - revisits.count(f"{root}/") >= 4
    statuses = recrawl.open(shop / "store").query('SELECT status FROM visits ORDER BY "at"')
    # Retries are not visits.
    assert statuses["status"].to_pylist() == [200] * (3 + len(revisits))


def test_the_scheduler_revisits_in_cycles_and_jobdir_works(tmp_path, blank, site):
    site.pages |= {"/hub": "<a href=/leaf>leaf</a> <a href=/page>page</a>"}
    site.pages |= {"/leaf": "leaf", "/page": "page", "/robots.txt": "User-agent: *\n"}
    shop = project(
        blank, tmp_path, site.root + "/hub",
        IMPATIENT + ADDON + 'SCHEDULER = "recrawl.adapters.scrapy.Scheduler"\nRECRAWL_BUDGET = 2\n',
        REVISIT,
    )  # fmt: skip
    site.log.clear()
    crawl(shop, "CLOSESPIDER_PAGECOUNT=4", "JOBDIR=job")
    assert site.paths() == ["/hub", "/leaf", "/page"]
    site.log.clear()
    crawl(
        shop,
        "RECRAWL_EVERY=2s",
        "CLOSESPIDER_PAGECOUNT=5",
        "JOBDIR=job",
        OUT,
    )
    assert len(site.paths()) == 4  # two cycles of two pages, and no page but those of the plan
    assert {by for _, by in items(shop)} == {"again"}
    assert recrawl.open(shop / "store").summary().visits == 7


def test_sigkill_loses_only_visits_not_yet_appended(tmp_path, blank, site):
    site.pages["/robots.txt"] = "User-agent: *\n"
    shop = project(
        blank, tmp_path, site.root + "/endless/0", ADDON,
    )  # fmt: skip
    site.log.clear()
    run = scrapy(shop, "crawl", "site", "--loglevel=INFO")
    deadline, flushed = time.monotonic() + 60, 0
    while not flushed and time.monotonic() < deadline:
        time.sleep(0.1)
        if (shop / "store/history.duckdb").exists():
            flushed = recrawl.open(shop / "store").summary().visits
    time.sleep(0.3)
    os.kill(run.pid, signal.SIGKILL)
    output, _ = run.communicate()
    assert flushed, output
    with recrawl.open(shop / "store") as store:
        kept = store.query("SELECT url FROM visits JOIN pages USING (page_id)")["url"].to_pylist()
        assert len(kept) >= flushed
        assert {url.removeprefix(site.root) for url in kept} <= set(site.paths())
        store.append(recrawl.VISITS.empty_table())  # the right to write died with the process
    notes = sqlite3.connect(shop / "store/notes.sqlite").execute("SELECT url FROM notes")
    assert {url for (url,) in notes} >= set(kept)
