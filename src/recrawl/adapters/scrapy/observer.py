"""Records a Scrapy crawl: every response, and every request without one, is a visit."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK

from recrawl.adapters.journal import Journal, clock
from recrawl.adapters.scrapy.project import check_settings, is_crawl, quieten_libraries
from recrawl.errors import BadUrl
from recrawl.page.responses import NO_ANSWER, Response
from recrawl.urls import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy import http as scrapy_http
    from scrapy.crawler import Crawler

    from recrawl.adapters.page_notes import Note
    from recrawl.history import Appended

_HEADERS_KEPT = ("etag", "last-modified", "content-type", "content-encoding")
_REDIRECT = 302  # for a response from another URL, if the downloader does not report the redirect
_RETRY_SECONDS = 2.0
#: Stats `recrawl/…`. All begin with 0, because another thread counts some of them.
_STATS = (
    "planned", "revisited", "dropped_known", "plan_seconds", "batches", "recorded", "new_pages",
    "changed", "unchanged", "failed", "not_kept",
)  # fmt: skip
_observers: dict[Crawler, Observer] = {}


class Observer:
    """Records a crawl in the store RECRAWL_STORE, without changing the crawl.

    A redirect is recorded for the page that redirects, the final response for the page it comes
    from. If Scrapy retries a request, only the last try is recorded.
    """

    def __init__(self, journal: Journal, crawler: Crawler) -> None:
        self.journal = journal
        self.notes: WeakKeyDictionary[Request, Note] = WeakKeyDictionary()
        self._signals = crawler.signals
        self._stats = crawler.stats
        self._answered: set[Request] = set()
        self._failed_at: float | None = None  # a retry may follow soon

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Observer:
        """The observer of this crawler, made on the first call."""
        if crawler in _observers:
            return _observers[crawler]
        if not is_crawl(crawler):
            raise NotConfigured
        check_settings(crawler.settings)
        path = crawler.settings.get("RECRAWL_STORE")
        if not path:
            raise NotConfigured("RECRAWL_STORE must name the folder of the store. Got none.")
        quieten_libraries()
        observer = _observers[crawler] = cls(Journal.join(path), crawler)
        for name in _STATS:
            crawler.stats.set_value(f"recrawl/{name}", 0)
        observer.journal.listen(observer.count)
        for handler, signal in (
            (observer.downloaded, signals.response_downloaded),
            (observer.received, signals.response_received),
            (observer.left, signals.request_left_downloader),
        ):
            crawler.signals.connect(handler, signal)
        crawler.signals.connect(lambda: _close(crawler), signals.spider_closed, weak=False)
        return observer

    def downloaded(self, response: scrapy_http.Response, request: Request) -> None:
        """Record redirects and 304s here, before middlewares (cache, redirect) replace them."""
        self._answered.add(request)
        self._stop_expecting_retry()
        if 300 <= response.status < 400:
            self._record(request.url, request, response)

    def received(self, response: scrapy_http.Response, request: Request) -> None:
        """Record all other responses, decompressed and after Scrapy's retries."""
        if 300 <= response.status < 400 or "cached" in response.flags:
            return
        requested, loaded = page_of(request), _page(response.url)
        if requested and loaded and requested != loaded:
            self.journal.add(Response(requested, clock(), _REDIRECT))
        self._record(response.url, request, response)

    def left(self, request: Request) -> None:
        """Record a failed visit if there was no response. Scrapy retries at once or not at all."""
        if request in self._answered:
            self._answered.remove(request)
        elif url := page_of(request):
            self.journal.add(Response(url, clock()), self.notes.get(request))
            self._failed_at = clock()
            self._signals.connect(self.scheduled, signals.request_scheduled)

    def scheduled(self, request: Request) -> None:
        if request.meta.get("retry_times") and (url := page_of(request)):
            self.journal.retried(url)

    def _stop_expecting_retry(self) -> None:
        """Disconnect: this signal is sent for every link of every page, which would be slow."""
        if self._failed_at is not None and clock() - self._failed_at > _RETRY_SECONDS:
            self._failed_at = None
            self._signals.disconnect(self.scheduled, signals.request_scheduled)

    def _record(self, url: str, request: Request, response: scrapy_http.Response) -> None:
        page = _page(url)
        if page_of(request) is None or page is None:
            return
        headers = {
            name: value.decode("latin-1")
            for name in _HEADERS_KEPT
            if (value := response.headers.get(name)) is not None
        }
        status = min(max(response.status, 1), 999)  # servers may send any number
        latency = request.meta.get("download_latency")
        visit = Response(page, clock(), status, headers, response.body, latency)
        self.journal.add(visit, self.notes.get(request))

    def count(self, visits: Sequence[Response], done: Appended) -> None:
        """Count a batch of the store in the stats."""
        n_failed = sum(visit.status == NO_ANSWER or visit.status >= 400 for visit in visits)
        for name, count in (
            ("batches", 1),
            ("recorded", done.added),
            ("new_pages", done.pages),
            ("changed", done.changed),
            ("unchanged", done.unchanged),
            ("failed", n_failed),
        ):
            self._stats.inc_value(f"recrawl/{name}", count)


def page_of(request: Request) -> str | None:
    """The page of a request; None for a form, a robots.txt or a file of a media pipeline."""
    if request.method != "GET" or request.callback is NO_CALLBACK:
        return None
    return _page(request.url)


def _page(url: str) -> str | None:
    try:
        return canonical(url)
    except BadUrl:
        return None


def _close(crawler: Crawler) -> None:
    _observers.pop(crawler).journal.leave()
