"""Scrapy's signals one by one; complete crawls are in e2e/test_scrapy.py."""

from __future__ import annotations

import numpy as np
import pytest

import recrawl
from recrawl.errors import BadInput, StoreError
from recrawl.page.responses import NO_ANSWER, Response, to_visits

pytest.importorskip("scrapy", reason="needs the extra crawl")

from scrapy import FormRequest, Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from recrawl.adapters.journal import BATCH_VISITS, Journal
from recrawl.adapters.scrapy import Observer, Scheduler, StartFromPlan
from recrawl.adapters.scrapy.revisits import META_KEY, DuePage, Revisits

PAGE = "https://example.org/"
OBSERVE = {"recrawl.adapters.scrapy.Observer": 500}


class Crawl:
    """A crawler with the extension, and the signals that its engine would send."""

    def __init__(self, path, **settings):
        merged = {
            "EXTENSIONS_BASE": {},
            "EXTENSIONS": OBSERVE,
            "RECRAWL_STORE": str(path),
            **settings,
        }
        self.crawler = get_crawler(settings_dict=merged)
        self.path = path

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
    assert revisits.due == [DuePage(PAGE, {"If-None-Match": '"e"'})]
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


@pytest.mark.slow
def test_a_refused_page_counts_as_failed_but_not_its_redirect_target(revisits):
    for url in (PAGE, PAGE + "elsewhere"):
        failure = Failure(IgnoreRequest("robots.txt"))
        failure.request = Request(url, meta={META_KEY: PAGE})
        assert revisits.revisits.record_refused(failure) is failure
    rows = revisits.revisits.journal.run(lambda store: store.summary()).result()
    assert (rows.pages, rows.visits, rows.failing) == (1, 2, 1)


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
    addon = {"ADDONS": {"recrawl.adapters.scrapy.Addon": 300}, "EXTENSIONS": {}}
    crawl = Crawl(tmp_path / "store", **addon, **settings)
    wired = crawl.crawler.settings
    assert (load_object(wired["SCHEDULER"]) is Scheduler) == scheduler
    assert (StartFromPlan in wired["SPIDER_MIDDLEWARES"]) == middleware
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
