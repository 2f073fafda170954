"""How is one URL downloaded? By Scrapy, stripped of all that a recrawl does itself or not at all.

Its scheduler, spiders and middlewares are idle: turns are taken in `dispatch`, and pages are read
in the thread that asked for them. Nothing is followed, tried again, or remembered between requests.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import cache
from importlib.metadata import version
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
from scrapy.logformatter import LogFormatter
from twisted.internet import ssl as tls
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from recrawl.fetch.answer import REFUSED, Answer
from recrawl.fetch.resolver import Resolver
from recrawl.fetch.robots import AGENT
from recrawl.page.responses import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from scrapy.http import Response

MOST_HEADER_BYTES = 256 << 10
_SLOT = "recrawl"
_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_CRYPTIC = ("OpenSSL.SSL.Error", "VerificationError", "CertificateError")


class Downloader:
    """Downloads of one engine. To be used in the thread of the reactor."""

    def __init__(
        self,
        *,
        contact: str | None,
        proxy: str | None,
        allow_private: bool,
        concurrency: int,
        delay: float,
        timeout: float,
        max_bytes: int,
        clock: Callable[[], float],
    ) -> None:
        named = f"{AGENT}/{version('recrawl')}"
        self._headers = {
            "User-Agent": f"{named} (+{contact})" if contact else named,
            "Accept": _ACCEPT,
            "Accept-Encoding": "gzip, deflate",
        }
        self._meta: dict[str, Any] = {"download_slot": _SLOT, "download_timeout": timeout}
        if proxy:
            self._meta["proxy"] = proxy
        self._clock = clock
        trusted = frozenset([urlsplit(proxy).hostname or ""] if proxy else [])
        self._resolver = Resolver(allow_private=allow_private, trusted=trusted)
        self._crawler = Crawler(_Nothing, _settings(concurrency, delay, max_bytes))
        self._over: asyncio.Future[None] | None = None

    async def open(self) -> None:
        from twisted.internet import reactor

        installed: Any = reactor
        self._before = installed.installNameResolver(self._resolver)
        ready = asyncio.Event()

        def started() -> None:
            ready.set()

        self._crawler.signals.connect(started, signals.engine_started)
        self._over = asyncio.ensure_future(self._crawler.crawl_async())
        opened = asyncio.ensure_future(ready.wait())
        await asyncio.wait([self._over, opened], return_when=asyncio.FIRST_COMPLETED)
        if self._over.done():
            opened.cancel()
            self._over.result()  # raises what went wrong

    async def close(self) -> None:
        from twisted.internet import reactor

        await self._crawler.stop_async()
        if self._over is not None:
            await self._over
        self._resolver.close()
        installed: Any = reactor
        installed.installNameResolver(self._before)

    async def __call__(self, url: str, headers: Mapping[str, str]) -> Answer:
        """Ask for a URL; whatever happens, there is an answer."""
        at, begin = self._clock(), perf_counter()
        request = Request(url, headers=self._headers | dict(headers), meta=self._meta)
        try:
            response = await self._crawler.engine.download_async(request)
        except Exception as error:  # noqa: BLE001 - whatever a server provokes is a failed visit
            problem = self._problem(error, url)
            seconds = None if problem == REFUSED else perf_counter() - begin  # nothing was sent
            return Answer(url, at, NO_ANSWER, {}, b"", seconds, problem)
        return _answer(url, at, response, perf_counter() - begin)

    def _problem(self, error: Exception, url: str) -> str:
        if isinstance(error, DownloadTimeoutError):
            return "timeout"
        if isinstance(error, CannotResolveHostError):
            return REFUSED if (urlsplit(url).hostname or "") in self._resolver.refused else "dns"
        if isinstance(error, DownloadCancelledError):
            return "too large"
        if isinstance(error, ResponseDataLossError):
            return "cut short"
        if any(name in str(error) for name in _CRYPTIC):
            return "tls"
        return "connect" if "onnect" in type(error).__name__ else "failed"


def _answer(url: str, at: float, response: Response, seconds: float) -> Answer:
    if not 100 <= response.status <= 599:
        return Answer(url, at, NO_ANSWER, {}, b"", seconds, "failed")
    headers: Any = response.headers
    return Answer(url, at, response.status, headers, response.body, seconds)


class _Nothing(Spider):
    """A spider that waits until it is told to end."""

    name = AGENT

    async def start(self) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield None


class Quiet(LogFormatter):
    """Says nothing of requests that went well."""

    def crawled(self, *_: object) -> Any:
        return None


class Handler(HTTP11DownloadHandler):
    """Bounds what Scrapy leaves open: header bytes, silent repeats, how long connections idle."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._contextFactory: Any = Verified()  # Scrapy's own reads all certificates each time
        pool: Any = self._pool
        pool._factory = _bounded(pool._factory)
        pool.retryAutomatically = False  # a host would see two requests at once
        pool.cachedConnectionTimeout = crawler.settings.getfloat("RECRAWL_IDLE")


@implementer(IPolicyForHTTPS)
class Verified:
    """TLS with certificates that the system trusts, which are read once."""

    def __init__(self) -> None:
        known = ssl.create_default_context().get_ca_certs(binary_form=True)
        twisted: Any = tls  # which has few types
        loaded = [twisted.Certificate.load(each) for each in known]
        self._trust = (
            twisted.trustRootFromCertificates(loaded) if loaded else twisted.platformTrust()
        )

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:  # noqa: ARG002, N802
        return tls.optionsForClientTLS(hostname.decode("ascii"), trustRoot=self._trust)


def _bounded(factory: Any) -> Any:
    class Bounded(factory):  # type: ignore[misc]
        noisy = False

        def buildProtocol(self, addr: Any) -> Any:  # noqa: N802
            protocol = super().buildProtocol(addr)
            kind: Any = type(protocol)
            protocol.__class__ = _bounded_protocol(kind)
            return protocol

    return Bounded


@cache
def _bounded_protocol(kind: Any) -> Any:
    class Bounded(kind):  # type: ignore[misc]
        """A connection that is given up when a response's headers do not end."""

        room = MOST_HEADER_BYTES

        def request(self, request: Any) -> Any:
            self.room = MOST_HEADER_BYTES
            return super().request(request)

        def dataReceived(self, data: bytes) -> None:  # noqa: N802
            if self._parser is not None and self._parser.state in ("STATUS", "HEADER"):
                self.room -= len(data)
                if self.room < 0:
                    self.transport.abortConnection()
                    return
            super().dataReceived(data)

    return Bounded


def _settings(concurrency: int, delay: float, max_bytes: int) -> dict[str, Any]:
    return {
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,  # all share one slot
        "DOWNLOAD_DELAY": 0,
        "DOWNLOAD_MAXSIZE": max_bytes,
        "DOWNLOAD_WARNSIZE": 0,
        "DOWNLOAD_HANDLERS_BASE": {"http": Handler, "https": Handler},
        "DOWNLOADER_MIDDLEWARES_BASE": {},
        "SPIDER_MIDDLEWARES_BASE": {},
        "EXTENSIONS_BASE": {},
        "ADDONS": {},
        "LOG_FORMATTER": Quiet,
        "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
        "RECRAWL_IDLE": 1.5 * delay + 2.0,
    }
