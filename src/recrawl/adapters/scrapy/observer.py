"""What did the crawl see? Every answer to the spider, and every fetch without one, is a visit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK

from recrawl.adapters.journal import Journal, clock
from recrawl.errors import BadUrl
from recrawl.page.responses import Response
from recrawl.urls import canonical

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy import http as scrapy_http
    from scrapy.crawler import Crawler
    from scrapy.signalmanager import SignalManager

_TELLING = ("etag", "last-modified", "content-type", "content-encoding")
_MOVED = 302  # for a page found at another address, by a downloader that does not say how
_RETRIED_WITHIN = 2.0  # seconds
_observers: dict[Crawler, Observer] = {}


class Observer:
    """Records a crawl in the store RECRAWL_STORE, and changes nothing in it.

    A redirect is recorded on the page that redirects, as it comes off the wire; what it leads to,
    on the page that answers. Of a fetch that Scrapy tries again only the last try is recorded.
    """

    def __init__(self, journal: Journal, signals_of_crawl: SignalManager) -> None:
        self.journal = journal
        self._signals = signals_of_crawl
        self._answered: set[Request] = set()
        self._failed_at: float | None = None  # lately, so that a retry may follow

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Observer:
        """The one observer of this crawler; whichever part asks first makes it."""
        if crawler in _observers:
            return _observers[crawler]
        path = crawler.settings.get("RECRAWL_STORE")
        if not path:
            raise NotConfigured("RECRAWL_STORE must name the folder of the store. Got none.")
        found = _observers[crawler] = cls(Journal.join(path), crawler.signals)
        for handler, signal in (
            (found.downloaded, signals.response_downloaded),
            (found.received, signals.response_received),
            (found.left, signals.request_left_downloader),
        ):
            crawler.signals.connect(handler, signal)
        crawler.signals.connect(lambda: _close(crawler), signals.spider_closed, weak=False)
        return found

    def downloaded(self, response: scrapy_http.Response, request: Request) -> None:
        """A redirect, or a 304, which a cache may turn into something else on its way."""
        self._answered.add(request)
        self._stop_listening()
        if 300 <= response.status < 400:
            self._record(request.url, request, response)

    def received(self, response: scrapy_http.Response, request: Request) -> None:
        """All else, decompressed and after Scrapy's retries."""
        if 300 <= response.status < 400 or "cached" in response.flags:
            return
        asked, found = page_of(request), _page(response.url)
        if asked and found and asked != found:
            self.journal.add(Response(asked, clock(), _MOVED))
        self._record(response.url, request, response)

    def left(self, request: Request) -> None:
        """No answer, if none came before. Scrapy tries it again at once, or not at all."""
        if request in self._answered:
            self._answered.remove(request)
        elif url := page_of(request):
            self.journal.add(Response(url, clock()))
            self._failed_at = clock()
            self._signals.connect(self.scheduled, signals.request_scheduled)

    def scheduled(self, request: Request) -> None:
        if request.meta.get("retry_times") and (url := page_of(request)):
            self.journal.retried(url)

    def _stop_listening(self) -> None:
        """That signal is sent for every link of every page: a call for each would be dear."""
        if self._failed_at is not None and clock() - self._failed_at > _RETRIED_WITHIN:
            self._failed_at = None
            self._signals.disconnect(self.scheduled, signals.request_scheduled)

    def _record(self, url: str, request: Request, response: scrapy_http.Response) -> None:
        page = _page(url)
        if page_of(request) is None or page is None:
            return
        headers = {
            name: value.decode("latin-1")
            for name in _TELLING
            if (value := response.headers.get(name)) is not None
        }
        status = min(max(response.status, 1), 999)  # servers may send any number
        latency = request.meta.get("download_latency")
        self.journal.add(Response(page, clock(), status, headers, response.body, latency))


def page_of(request: Request) -> str | None:
    """The page that a request asks for; none for a form, a robots.txt, a picture of a pipeline."""
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
