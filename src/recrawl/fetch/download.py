"""Downloads one URL with Scrapy, without its scheduler, spiders and middlewares.

`dispatch` decides when a URL is downloaded. Nothing is followed, tried again, or remembered between
requests.
"""

from __future__ import annotations

import asyncio
import gc
import ssl
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from ipaddress import ip_network
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
    StopDownload,
)
from scrapy.logformatter import LogFormatter
from twisted.internet import ssl as tls
from twisted.web.client import HTTPConnectionPool
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from recrawl import urls
from recrawl.fetch.hosts import ADDRESS_CONCURRENCY
from recrawl.fetch.resolver import Resolver
from recrawl.fetch.result import MAX_BODIES_BYTES, NO_MEMORY, FetchResult
from recrawl.fetch.robots import AGENT
from recrawl.page.responses import NO_ANSWER, NOT_PUBLIC

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from scrapy.http import Response

COLLECTED_BYTES = 64_000_000  #: of bodies that have ended; then the garbage is collected
MAX_HEADER_BYTES = 256 << 10
_SLOT = "recrawl"
_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_TLS_ERRORS = ("OpenSSL.SSL.Error", "VerificationError", "CertificateError")


class Downloader:
    """Downloads for one engine. Runs in the thread of the reactor."""

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
        unread: Callable[[], int],
    ) -> None:
        agent = f"{AGENT}/{version('recrawl')}"
        self._headers = {
            "User-Agent": f"{agent} (+{contact})" if contact else agent,
            "Accept": _ACCEPT,
            "Accept-Encoding": "gzip, deflate",
        }
        self._meta: dict[str, Any] = {"download_slot": _SLOT, "download_timeout": timeout}
        if proxy:
            self._meta["proxy"] = proxy
        self._clock = clock
        trusted = frozenset([urlsplit(proxy).hostname or ""] if proxy else [])
        self._resolver = Resolver(allow_private=allow_private, trusted=trusted)
        self._crawler = Crawler(
            _IdleSpider, _settings(concurrency, delay, max_bytes, proxied=bool(proxy))
        )
        self._crawl: asyncio.Future[None] | None = None
        self._concurrency = concurrency
        self._unread = unread
        self._received: dict[Request, int] = {}  # bytes of the bodies in flight
        self._received_bytes = 0
        self._ended_bytes = 0  # since the garbage was collected

    async def open(self) -> None:
        from twisted.internet import reactor

        installed: Any = reactor
        self._previous_resolver = installed.installNameResolver(self._resolver)
        ready = asyncio.Event()

        def started() -> None:
            ready.set()

        self._crawler.signals.connect(started, signals.engine_started)
        self._crawler.signals.connect(self._count_bytes, signals.bytes_received)
        self._crawl = asyncio.ensure_future(self._crawler.crawl_async())
        opened = asyncio.ensure_future(ready.wait())
        await asyncio.wait([self._crawl, opened], return_when=asyncio.FIRST_COMPLETED)
        if self._crawl.done():
            opened.cancel()
            self._crawl.result()  # raises its error

    async def close(self) -> None:
        from twisted.internet import reactor

        await self._crawler.stop_async()
        if self._crawl is not None:
            await self._crawl
        self._resolver.close()
        installed: Any = reactor
        installed.installNameResolver(self._previous_resolver)

    async def __call__(self, url: str, headers: Mapping[str, str]) -> FetchResult:
        """Request a URL. Errors are returned as `problem`, not raised."""
        at, start = self._clock(), perf_counter()
        sent = self._headers | dict(headers) | {"Host": urls.host(url)}
        request = Request(url, headers=sent, meta=self._meta)
        try:
            response = await self._crawler.engine.download_async(request)
        except Exception as error:  # noqa: BLE001 - any error that a server causes is a failed visit
            problem = self._problem(error, url)
            seconds = None if problem == NOT_PUBLIC else perf_counter() - start  # no request sent
            return FetchResult(url, at, NO_ANSWER, {}, b"", seconds, problem)
        finally:
            self._free(request)
        result = _to_result(url, at, response, perf_counter() - start)
        result.sent = sent
        return result

    def _count_bytes(self, data: bytes, request: Request) -> None:
        """Stop a body that takes more than its share of MAX_BODIES_BYTES, if all take too much."""
        mine = self._received.get(request, 0) + len(data)
        self._received[request] = mine
        self._received_bytes += len(data)
        is_over = self._received_bytes + self._unread() > MAX_BODIES_BYTES
        if is_over and mine > MAX_BODIES_BYTES / self._concurrency:
            self._free(request)  # at once, so that no more bodies are stopped than must be
            raise StopDownload(fail=True)

    def _free(self, request: Request) -> None:
        """Count a body as ended. Twisted's objects refer to each other and hold it until then."""
        ended = self._received.pop(request, 0)
        self._received_bytes -= ended
        self._ended_bytes += ended
        if self._ended_bytes > COLLECTED_BYTES:
            self._ended_bytes = 0
            gc.collect()

    async def address_of(self, name: str) -> str | None:
        """The address that a host is requested at; None if it has none, or a proxy finds it.

        Of a v6 address the first half counts, which is what one customer of a network gets.
        """
        if "proxy" in self._meta:
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(self._meta["download_timeout"]):
                bare = urlsplit(f"//{name}").hostname or ""
                for is_v6, address in await self._resolver.addresses(bare):
                    bare = address.partition("%")[0]
                    return str(ip_network(f"{bare}/64", strict=False)) if is_v6 else address
        return None

    def _problem(self, error: Exception, url: str) -> str:
        if isinstance(error, DownloadTimeoutError):
            return "timeout"
        if isinstance(error, CannotResolveHostError):
            return NOT_PUBLIC if (urlsplit(url).hostname or "") in self._resolver.refused else "dns"
        if isinstance(error, DownloadCancelledError):
            return "too large"
        if isinstance(error, StopDownload):
            return NO_MEMORY
        if isinstance(error, ResponseDataLossError):
            return "cut short"
        if any(name in str(error) for name in _TLS_ERRORS):
            return "tls"
        return "connect" if "onnect" in type(error).__name__ else "failed"


def _to_result(url: str, at: float, response: Response, seconds: float) -> FetchResult:
    if not 100 <= response.status <= 599:
        return FetchResult(url, at, NO_ANSWER, {}, b"", seconds, "failed")
    headers: Any = response.headers
    return FetchResult(url, at, response.status, headers, response.body, seconds)


class _IdleSpider(Spider):
    """A spider that does nothing until it is stopped."""

    name = AGENT

    async def start(self) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield None


class QuietLogFormatter(LogFormatter):
    """Does not log successful requests."""

    def crawled(self, *_: object) -> Any:
        return None


class BoundedHandler(HTTP11DownloadHandler):
    """Limits what Scrapy does not: bytes of headers, silent retries, idle time of connections."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._contextFactory: Any = (
            VerifiedTls()
        )  # Scrapy's own loads all certificates for each connection
        pool: Any = self._pool
        pool.__class__ = BoundedPool
        pool.max_idle_per_address = crawler.settings.getint("RECRAWL_IDLE_PER_ADDRESS")
        pool._factory = _bounded_factory(pool._factory)
        pool.retryAutomatically = False  # a host would see two requests at once
        pool.cachedConnectionTimeout = crawler.settings.getfloat("RECRAWL_IDLE")


class BoundedPool(HTTPConnectionPool):
    """Keeps few idle connections to one address, whatever the names of its hosts."""

    max_idle_per_address = 0  #: 0: no limit, as all have the address of a proxy

    def _putConnection(self, key: Any, connection: Any) -> None:  # noqa: N802
        address = connection.transport.getPeer().host
        idle = [
            (name, other)
            for name, others in self._connections.items()
            for other in others
            if other.transport.getPeer().host == address
        ]
        if 0 < self.max_idle_per_address <= len(idle):
            oldest: Any = idle[0][1]
            self._timeouts[oldest].cancel()
            self._removeConnection(idle[0][0], oldest)  # type: ignore[no-untyped-call]
        super()._putConnection(key, connection)  # type: ignore[no-untyped-call]


@implementer(IPolicyForHTTPS)
class VerifiedTls:
    """TLS with the certificates that the system trusts, loaded once."""

    def __init__(self) -> None:
        trusted = ssl.create_default_context().get_ca_certs(binary_form=True)
        twisted: Any = tls  # which has few types
        loaded = [twisted.Certificate.load(each) for each in trusted]
        self._trust = (
            twisted.trustRootFromCertificates(loaded) if loaded else twisted.platformTrust()
        )

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:  # noqa: ARG002, N802
        return tls.optionsForClientTLS(hostname.decode("ascii"), trustRoot=self._trust)


def _bounded_factory(factory: Any) -> Any:
    class BoundedFactory(factory):  # type: ignore[misc]
        noisy = False

        def buildProtocol(self, addr: Any) -> Any:  # noqa: N802
            protocol = super().buildProtocol(addr)
            kind: Any = type(protocol)
            protocol.__class__ = _bounded_protocol(kind)
            return protocol

    return BoundedFactory


@cache
def _bounded_protocol(kind: Any) -> Any:
    class BoundedConnection(kind):  # type: ignore[misc]
        """A connection that is closed when the headers of a response exceed MAX_HEADER_BYTES."""

        header_bytes_left = MAX_HEADER_BYTES

        def request(self, request: Any) -> Any:
            self.header_bytes_left = MAX_HEADER_BYTES
            return super().request(request)

        def dataReceived(self, data: bytes) -> None:  # noqa: N802
            if self._parser is not None and self._parser.state in ("STATUS", "HEADER"):
                self.header_bytes_left -= len(data)
                if self.header_bytes_left < 0:
                    self.transport.abortConnection()
                    return
            super().dataReceived(data)

    return BoundedConnection


def _settings(concurrency: int, delay: float, max_bytes: int, *, proxied: bool) -> dict[str, Any]:
    return {
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,  # all share one slot
        "DOWNLOAD_DELAY": 0,
        "DOWNLOAD_MAXSIZE": max_bytes,
        "DOWNLOAD_WARNSIZE": 0,
        "DOWNLOAD_HANDLERS_BASE": {"http": BoundedHandler, "https": BoundedHandler},
        "DOWNLOADER_MIDDLEWARES_BASE": {},
        "SPIDER_MIDDLEWARES_BASE": {},
        "EXTENSIONS_BASE": {},
        "ADDONS": {},
        "LOG_FORMATTER": QuietLogFormatter,
        "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
        "RECRAWL_IDLE_PER_ADDRESS": 0 if proxied else ADDRESS_CONCURRENCY,
        "RECRAWL_IDLE": 1.5 * delay + 2.0,
    }
