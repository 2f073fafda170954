"""Scrapy's signals one by one; complete crawls are in e2e/test_scrapy.py."""

from __future__ import annotations

import re

import numpy as np
import pytest

import recrawl
from recrawl.errors import BadInput, StoreError, StoreInvalid, UnknownPart
from recrawl.page.responses import NO_ANSWER, Response, to_visits

pytest.importorskip("scrapy", reason="needs the extra crawl")

from scrapy import FormRequest, Request, Spider, signals
from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotConfigured,
)
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler, get_reactor_settings

from recrawl.adapters.journal import BATCH_VISITS, Journal
from recrawl.adapters.page_notes import MAX_CHARACTERS, NOTES, Note, PageNotes
from recrawl.adapters.scrapy import Observer, RememberRequests, Scheduler, StartFromPlan
from recrawl.adapters.scrapy.memory import META_KEY, RUN, RequestMemory
from recrawl.adapters.scrapy.revisits import DuePage, Revisits

PAGE = "https://example.org/"
OBSERVE = {"recrawl.adapters.scrapy.Observer": 500}
ADDON = {"ADDONS": {"recrawl.adapters.scrapy.Addon": 300}, "EXTENSIONS": {}}


class ShopSpider(Spider):
    name = "shop"

    def parse_item(self, response, kind=""):
        pass

    def on_error(self, failure):
        pass


class Crawl:
    """A crawler with the extension, and the signals that its engine would send."""

    def __init__(self, path, **settings):
        merged = {
            "EXTENSIONS_BASE": {},
            "EXTENSIONS": OBSERVE,
            "DOWNLOADER_MIDDLEWARES": {"recrawl.adapters.scrapy.RememberRequests": 0},
            "RECRAWL_STORE": str(path),
            **get_reactor_settings(),
            **settings,
        }
        self.crawler = Crawler(ShopSpider, merged)
        self.crawler.crawling = True  # as its method `crawl` says
        self.crawler.spider = ShopSpider()
        self.crawler._apply_settings()
        self.path = path

    @property
    def stats(self):
        named = self.crawler.stats.get_stats().items()
        return {name.removeprefix("recrawl/"): value for name, value in named if value}

    def send(self, signal, **facts):
        answers = self.crawler.signals.send_catch_log(signal, **facts)
        assert all(answer is None for _, answer in answers), answers

    def fetch(self, request, status=200, body=b"<p>Hello", url=None, **headers):
        response = HtmlResponse(url or request.url, status, headers, body, request=request)
        facts = {"request": request, "response": response}
        self.send(signals.response_downloaded, **facts)
        self.send(signals.request_left_downloader, request=request)
        self.send(signals.response_received, **facts)

    def fail(self, request):
        self.send(signals.request_left_downloader, request=request)

    def close(self):
        self.send(signals.spider_closed)
        rows = recrawl.open(self.path).query(
            'SELECT url, status, etag FROM visits JOIN pages USING (page_id) ORDER BY "at"'
        )
        return [tuple(row.values()) for row in rows.to_pylist()]


@pytest.fixture
def crawl(tmp_path):
    return Crawl(tmp_path / "store")


def test_responses_and_failures_are_visits_of_canonical_urls(crawl):
    crawl.fetch(Request("https://EXAMPLE.org/#top"), ETag='"1"')
    crawl.fetch(Request(PAGE), 304, b"", ETag='"1"')
    crawl.fail(Request(PAGE + "down"))
    crawl.fetch(Request(PAGE + "odd"), 1234)
    assert crawl.close() == [
        (PAGE, 200, '"1"'),
        (PAGE, 304, '"1"'),
        (PAGE + "down", NO_ANSWER, None),
        (PAGE + "odd", 999, None),
    ]


def test_requests_that_are_not_for_pages_are_not_recorded(crawl):
    crawl.fetch(FormRequest(PAGE, formdata={"q": "x"}))
    crawl.fetch(Request(PAGE + "robots.txt", callback=NO_CALLBACK))
    crawl.fetch(Request("data:text/html,hello"))
    cached = Request(PAGE)
    answer = HtmlResponse(PAGE, flags=["cached"], request=cached)
    crawl.send(signals.response_received, request=cached, response=answer)
    assert crawl.close() == []


def test_a_redirect_of_the_downloader_is_recorded_for_both_pages(crawl):
    crawl.fetch(Request(PAGE + "old"), url=PAGE + "new")
    assert crawl.close() == [(PAGE + "old", 302, None), (PAGE + "new", 200, None)]


def test_only_the_last_try_of_a_retried_fetch_counts(crawl):
    crawl.fail(Request(PAGE))
    crawl.send(signals.request_scheduled, request=Request(PAGE, meta={"retry_times": 1}))
    crawl.fail(Request(PAGE))
    crawl.send(signals.request_scheduled, request=Request(PAGE, meta={"retry_times": 2}))
    crawl.fetch(Request(PAGE))
    assert crawl.close() == [(PAGE, 200, None)]


@pytest.mark.slow
def test_spiders_of_one_process_share_a_store_and_other_processes_are_refused(tmp_path):
    one, two = Crawl(tmp_path / "store"), Crawl(tmp_path / "store")
    one.fetch(Request(PAGE + "1"))
    assert one.crawler.settings["RECRAWL_STORE"]
    one.send(signals.spider_closed)
    two.fetch(Request(PAGE + "2"))
    assert len(two.close()) == 2
    with recrawl.open(tmp_path / "store") as other:
        other.append(recrawl.VISITS.empty_table())
        with pytest.raises(StoreError, match="being written"):
            Crawl(tmp_path / "store")


def test_visits_are_kept_while_the_store_cannot_be_written(tmp_path, monkeypatch, caplog):
    journal = Journal.join(tmp_path / "store")
    append, failures = journal.store.append, iter([StoreError("busy"), StoreError("full")])

    def failing(visits, **named):
        for error in failures:
            raise error
        return append(visits, **named)

    monkeypatch.setattr(journal.store, "append", failing)
    for i in range(3 * BATCH_VISITS):
        journal.add(Response(f"{PAGE}{i}", 1.7e9 + i))
    journal.leave()
    assert recrawl.open(tmp_path / "store").summary().visits == 3 * BATCH_VISITS
    assert caplog.text.count("it is tried again") == 2


@pytest.fixture
def revisits(tmp_path):
    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(to_visits([Response(PAGE, 1.7e9, 200, {"etag": '"e"'}, b"x")]))
    crawl = Crawl(tmp_path / "store", RECRAWL_BUDGET=5, RECRAWL_CONDITIONAL=True)
    crawl.revisits = Revisits(crawl.crawler)
    crawl.due = crawl.revisits.open()
    yield crawl
    crawl.close()


@pytest.mark.slow
def test_requests_of_the_spider_for_known_pages_are_dropped(revisits):
    assert revisits.due == [DuePage(PAGE, {"If-None-Match": '"e"'}, None)]
    planned = revisits.revisits.request(revisits.due[0])
    assert planned.headers["If-None-Match"] == b'"e"'
    is_wanted = revisits.revisits.is_wanted
    assert is_wanted(Request(PAGE + "new"), start=True)
    assert is_wanted(Request(PAGE + "new"), start=False)
    assert is_wanted(Request(PAGE, dont_filter=True), start=False)
    assert is_wanted(planned, start=False)
    assert is_wanted(FormRequest(PAGE, formdata={"q": "x"}), start=True)
    assert not is_wanted(Request(PAGE + "#top"), start=False)
    assert not is_wanted(Request(PAGE, dont_filter=True), start=True)
    assert not is_wanted(Request(PAGE, meta=dict(planned.meta)), start=False)  # spiders copy meta
    stats = revisits.stats
    assert (stats["planned"], stats["revisited"], stats["dropped_known"]) == (1, 1, 3)
    assert stats["plan_seconds"] > 0


@pytest.mark.slow
def test_a_refused_page_counts_as_failed_but_not_its_redirect_target(revisits):
    middleware = RememberRequests.from_crawler(revisits.crawler)
    for url in (PAGE, PAGE + "elsewhere"):
        request = Request(url, meta={META_KEY: (PAGE, RUN)})
        middleware.process_exception(request, IgnoreRequest("robots.txt"))
        middleware.process_exception(request, TimeoutError())
    rows = revisits.revisits.journal.run(lambda store: store.summary()).result()
    assert (rows.pages, rows.visits, rows.failing) == (1, 2, 1)


def test_visits_are_recorded_also_if_their_notes_cannot_be(crawl, caplog):
    middleware = RememberRequests.from_crawler(crawl.crawler)
    journal = Observer.from_crawler(crawl.crawler).journal
    journal.run(lambda _: journal.notes._connection.execute("PRAGMA query_only = on")).result()
    request = Request(PAGE)
    middleware.process_request(request)
    crawl.fetch(request)
    assert journal.run(lambda store: store.summary().visits).result() == 1
    assert "how pages were asked for is lost" in caplog.text


@pytest.mark.parametrize(
    ("error", "problem"),
    [(DownloadTimeoutError(), "timeout"), (CannotResolveHostError(), "dns"), (OSError(), None)],
)
def test_why_a_page_gave_no_answer_is_recorded(crawl, error, problem):
    middleware = RememberRequests.from_crawler(crawl.crawler)
    request = Request(PAGE)
    middleware.process_request(request)
    crawl.send(signals.request_left_downloader, request=request)
    middleware.process_exception(request, error)
    middleware.process_exception(Request(PAGE + "other"), error)  # of which nothing is recorded
    journal = Observer.from_crawler(crawl.crawler).journal
    rows = journal.run(lambda store: store.query("SELECT status, problem FROM visits")).result()
    assert rows.to_pylist() == [{"status": 0, "problem": problem}]


@pytest.mark.slow
def test_a_request_that_jobdir_kept_of_an_earlier_plan_is_dropped_and_not_recorded(revisits):
    middleware = RememberRequests.from_crawler(revisits.crawler)
    left_over = Request(PAGE, meta={META_KEY: (PAGE, "an earlier run")})
    with pytest.raises(IgnoreRequest) as dropped:
        middleware.process_request(left_over)
    middleware.process_exception(left_over, dropped.value)
    middleware.process_request(revisits.revisits.request(revisits.due[0]))  # of this run
    rows = revisits.revisits.journal.run(lambda store: store.summary()).result()
    assert rows.visits == 1


def asked_again(crawl, request):
    """The request that a later run makes for a page, from what was kept of this one."""
    RememberRequests.from_crawler(crawl.crawler).process_request(request)
    crawl.fetch(request)
    observer = Observer.from_crawler(crawl.crawler)
    [text] = observer.journal.run(lambda _: observer.journal.notes.read([PAGE])).result()
    return RequestMemory(crawl.crawler).request(PAGE, text)


def test_a_page_is_asked_for_again_as_the_spider_asked(crawl):
    spider = crawl.crawler.spider
    meta = {"rule": 3, "link_text": "Größe", "nested": {"a": [1, None]}, "codes": (404, 410)}
    asked = Request(
        PAGE, spider.parse_item, cb_kwargs={"kind": "book"}, errback=spider.on_error,
        meta={**meta, "is_start_request": True, "download_latency": 0.1},
    )  # fmt: skip
    again = asked_again(crawl, asked)
    assert (again.callback, again.errback) == (spider.parse_item, spider.on_error)
    assert (again.cb_kwargs, again.meta) == ({"kind": "book"}, {**meta, "codes": [404, 410]})
    assert asked_again(crawl, Request(PAGE)).callback is None  # the last way is kept
    crawl.close()


def test_a_retry_does_not_replace_what_the_spider_asked(crawl):
    first = Request(PAGE, crawl.crawler.spider.parse_item, meta={"proxy": "http://mine:1"})
    assert asked_again(crawl, first).meta == {"proxy": "http://mine:1"}
    retry = first.replace(meta={"proxy": "http://of-a-middleware:1", "retry_times": 1})
    assert asked_again(crawl, retry).meta == {"proxy": "http://mine:1"}
    crawl.close()


def test_a_redirect_target_is_asked_for_as_the_page_that_redirects(crawl):
    meta = {"proxy": "http://p", "redirect_times": 1, "redirect_urls": ["u"], "rule": 1}
    meta["dont_cache"] = True
    again = asked_again(crawl, Request(PAGE, crawl.crawler.spider.parse_item, meta=meta))
    assert again.callback == crawl.crawler.spider.parse_item
    assert again.meta == {"rule": 1}
    crawl.close()


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"callback": lambda _: None}, "callback: <function"),
        ({"errback": print}, "errback: <built-in"),
        ({"cb_kwargs": {"kind": object()}}, r"cb_kwargs\['kind'\]"),
        ({"meta": {"rule": 1, "page": {1: "int keys become text"}}}, r"meta\['page'\]"),
        ({"meta": {"long": "x" * MAX_CHARACTERS}}, "over 4,000 characters"),
    ],
)
def test_what_cannot_be_kept_is_a_warning_that_names_the_page(crawl, caplog, named, says):
    spider = crawl.crawler.spider
    again = asked_again(crawl, Request(PAGE, **{"callback": spider.parse_item, **named}))
    assert again.callback == (None if "callback" in named else spider.parse_item)
    assert again.meta == ({"rule": 1} if "rule" in named.get("meta", {}) else {})
    [warning] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert warning.startswith(PAGE)
    assert re.search(says, warning)
    assert crawl.stats["not_kept"] == 1
    crawl.close()


def test_warnings_are_few_and_the_rest_are_counted(crawl, caplog):
    memory = RequestMemory(crawl.crawler)
    for i in range(50):
        memory.note(f"{PAGE}{i}", Request(f"{PAGE}{i}", lambda _: None))
    assert caplog.text.count("a revisit will lack") == 10
    assert "recrawl/not_kept" in caplog.text
    assert crawl.stats["not_kept"] == 50
    crawl.close()


def test_a_method_that_is_gone_is_a_warning_and_the_page_goes_to_parse(crawl, caplog):
    for name in ("gone", "name"):  # `name` is no method
        again = RequestMemory(crawl.crawler).request(PAGE, f'{{"callback": "{name}"}}')
        assert again.callback is None
        assert f"{PAGE}: the spider has no method {name} any more" in caplog.text
    crawl.close()


def test_notes_are_on_disk_with_their_visits(crawl):
    RememberRequests.from_crawler(crawl.crawler).process_request(request := Request(PAGE))
    crawl.fetch(request)
    crawl.close()
    notes = PageNotes(crawl.path)
    assert notes.read([PAGE + "unknown", PAGE]) == [None, "{}"]
    notes.write([Note(PAGE, "older", replaces=False), Note(PAGE + "2", "two", replaces=False)])
    assert notes.read([PAGE, PAGE + "2"]) == ["{}", "two"]
    notes.close()
    assert (crawl.path / NOTES).stat().st_mode & 0o077 == 0  # proxies have passwords


def test_damaged_notes_are_refused_with_the_remedy(tmp_path):
    (tmp_path / NOTES).write_bytes(b"no database" * 100)
    with pytest.raises(StoreInvalid, match=r"notes\.sqlite cannot be read: .* remove it"):
        PageNotes(tmp_path)


def test_stats_say_what_was_recorded(crawl):
    crawl.fetch(Request(PAGE + "1"), body=b"one")
    crawl.fetch(Request(PAGE + "1"), body=b"one")
    crawl.fetch(Request(PAGE + "1"), body=b"two")
    crawl.fetch(Request(PAGE + "2"), 404)
    crawl.fail(Request(PAGE + "3"))
    crawl.close()
    assert crawl.stats == {
        "batches": 1, "recorded": 5, "new_pages": 3, "changed": 1, "unchanged": 1, "failed": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"RECRAWL_BUGDET": 5}, "No setting is called RECRAWL_BUGDET. Did you mean RECRAWL_BUDGET"),
        ({"RECRAWL_XYZ": 5}, "No setting is called RECRAWL_XYZ. .* Known: RECRAWL_STORE, "),
        ({"RECRAWL_EVERY": "1h"}, "RECRAWL_EVERY needs RECRAWL_BUDGET"),
    ],
)
@pytest.mark.parametrize("how", [ADDON, {}])
def test_settings_that_would_be_ignored_are_refused(tmp_path, settings, says, how):
    with pytest.raises(BadInput, match=says):
        Crawl(tmp_path / "store", **how, **settings)
    assert not (tmp_path / "store").exists()


def test_a_wrong_policy_is_refused_at_the_start(tmp_path):
    crawl = Crawl(tmp_path / "store", RECRAWL_BUDGET=5, RECRAWL_POLICY="atuo")
    with pytest.raises(UnknownPart, match="auto"):
        Revisits(crawl.crawler)
    crawl.close()


@pytest.mark.parametrize("text", ["not json", "[]", "5", '{"meta": 3}', '{"cb_kwargs": "x"}'])
def test_a_damaged_note_is_a_plain_request(crawl, text):
    again = RequestMemory(crawl.crawler).request(PAGE, text)
    assert (again.url, again.callback, again.meta) == (PAGE, None, {})


def test_revisits_without_the_memory_of_requests_are_refused(tmp_path):
    crawl = Crawl(tmp_path / "store", RECRAWL_BUDGET=5, DOWNLOADER_MIDDLEWARES={})
    with pytest.raises(BadInput, match="ADDONS"):
        Revisits(crawl.crawler)
    crawl.close()


def test_commands_that_do_not_crawl_get_no_component(tmp_path):
    settings = {**ADDON, "RECRAWL_STORE": str(tmp_path / "store"), "RECRAWL_BUDGET": 5}
    settings |= {"RECRAWL_EVERY": "1h", "SCHEDULER": "recrawl.adapters.scrapy.Scheduler"}
    crawler = get_crawler(settings_dict=settings)  # as the shell does: never `crawl`
    for component in (Observer, RememberRequests, StartFromPlan):
        with pytest.raises(NotConfigured):
            component.from_crawler(crawler)
    assert type(Scheduler.from_crawler(crawler)) is ScrapyScheduler
    assert not (tmp_path / "store").exists()
    bench = Crawler(load_object("scrapy.commands.bench._BenchSpider"), settings)
    bench.crawling = True
    with pytest.raises(NotConfigured):
        Observer.from_crawler(bench)


@pytest.mark.parametrize(
    ("settings", "says"), [({}, "RECRAWL_BUDGET must say"), ({"RECRAWL_BUDGET": "lots"}, "200")]
)
def test_a_budget_is_needed_to_plan(tmp_path, settings, says):
    crawl = Crawl(tmp_path / "store", **settings)
    with pytest.raises(BadInput, match=says):
        Revisits(crawl.crawler)
    crawl.close()


@pytest.mark.parametrize(
    ("settings", "scheduler", "middleware"),
    [
        ({}, False, False),
        ({"RECRAWL_BUDGET": 5}, False, True),
        ({"RECRAWL_BUDGET": "5%", "RECRAWL_EVERY": "1h"}, True, False),
        ({"RECRAWL_BUDGET": 5, "SCHEDULER": "recrawl.adapters.scrapy.Scheduler"}, True, False),
    ],
)
def test_the_addon_adds_the_components_that_the_settings_ask_for(
    tmp_path, settings, scheduler, middleware
):
    crawl = Crawl(tmp_path / "store", **ADDON, DOWNLOADER_MIDDLEWARES={}, **settings)
    wired = crawl.crawler.settings
    assert (load_object(wired["SCHEDULER"]) is Scheduler) == scheduler
    assert (StartFromPlan in wired["SPIDER_MIDDLEWARES"]) == middleware
    assert RememberRequests in wired["DOWNLOADER_MIDDLEWARES"]
    assert isinstance(Observer.from_crawler(crawl.crawler), Observer)
    crawl.close()


def test_validators_are_those_of_the_copy_we_hold(store):
    seen = {"etag": '"old"', "last-modified": "Tue, 14 Nov 2023 22:13:20 GMT"}
    store.append(
        to_visits(
            [
                Response(PAGE + "a", 1.7e9, 200, seen, b"one"),
                Response(PAGE + "a", 1.7e9 + 9, 404, {"etag": '"error"'}, b"gone"),
                Response(PAGE + "b", 1.7e9, 200, seen, b"two"),
                Response(PAGE + "b", 1.7e9 + 9, 200, {}, b"three"),  # it has stopped to say
                Response(PAGE + "c", 1.7e9),
            ]
        )
    )
    ids = np.array([store.page_id(PAGE + name) for name in "bacb"])
    etag, modified = store.validators(ids)
    assert etag == [None, '"old"', None, None]
    assert modified == [None, 1.7e9, None, None]
