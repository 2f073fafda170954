"""Carries out a plan on the web: politely, within limits, and returns visits in batches."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

from recrawl import urls
from recrawl.errors import BadInput, extra
from recrawl.fetch.addresses import is_private
from recrawl.fetch.dispatch import Dispatcher, FetchCall, FutureResult
from recrawl.fetch.host_file import HostFile
from recrawl.fetch.hosts import NEVER, HostQueues
from recrawl.fetch.result import FetchResult, SkippedPage
from recrawl.page.decode import unpack
from recrawl.page.responses import NO_ANSWER, ROBOTS_FORBIDS, conditional, read_response
from recrawl.page.visit_rows import visit_table

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future

    import pyarrow as pa

    from recrawl.fetch.dispatch import CallItem, FetchTask
    from recrawl.fetch.warc import Archive
    from recrawl.model import Pages
    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Planned

BATCH_VISITS = 200  #: a batch is complete with this many visits,
BATCH_CHARACTERS = 20_000_000  #: or with this much text and links,
BATCH_SECONDS = 2.0  #: or after this time
LEADS_TO_PRIVATE = "leads to an address that is not public"  #: of a redirect
STOPPED = "the engine was stopped"
_LARGE_BYTES = 1_000_000
_MAX_ITEMS_READ = 50  # then the dispatcher learns that results were read

#: From pages to their ETags and times of Last-Modified, None where a page has none.
Validators = Callable[["Pages"], tuple[Sequence[str | None], Sequence[float | None]]]

T = TypeVar("T")

_open = threading.Lock()  # one engine at a time, as the name resolver is global


class Progress(NamedTuple):
    """How far the engine is."""

    fetched: int  #: pages with a response, since the engine was opened
    failed: int  #: pages without one
    in_flight: int
    waiting: int  #: pages not yet requested
    hosts: int  #: hosts that wait for their turn


@dataclass(kw_only=True, eq=False)
class LiveEngine:
    """Fetches pages from the web with Scrapy. Use it with `with`; one at a time in a process.

    `delay`: seconds between the end of a response and the next request to the same host, more if
    robots.txt says so. `deadline`: seconds after the call of `fetch` in which requests are sent.
    Certificates are verified: a page with invalid TLS is a failed visit. Addresses that are not
    public are refused unless `allow_private`. A `proxy` (http://host:port) resolves names itself,
    so only addresses in URLs are checked then. `contact`: how the owners of hosts can reach you.
    `clock` gives the times of visits and nothing else: pauses are in real seconds. `validators`
    makes requests conditional. `warc`: the folder of an archive. `hosts_file`: where to keep what
    hosts asked for (pauses, robots.txt), so that it is obeyed after a restart; None: in memory.
    """

    contact: str | None = None
    proxy: str | None = None
    allow_private: bool = False
    delay: float = 1.0
    host_concurrency: int = 1
    concurrency: int = 32
    timeout: float = 30.0
    deadline: float = 3600.0
    backoff: float = 1.0
    max_bytes: int = 10_000_000
    validators: Validators | None = None
    warc: str | Path | None = None
    hosts_file: str | Path | None = None
    clock: Callable[[], float] = time.time  # noqa: TID251 - the live engine reads a clock

    def __post_init__(self) -> None:
        _check_contact(self.contact, needed=not (self.proxy or self.allow_private))
        _check_proxy(self.proxy)
        self._check_minimum(0, "delay", "deadline", "backoff")
        self._check_minimum(1, "host_concurrency", "concurrency", "max_bytes")
        self._check_minimum(0.1, "timeout")
        self._calls: list[FetchCall] = []
        self._stopped = False
        self._closed = True
        self._archive: Archive | None = None
        self._host_file: HostFile | None = None
        self.skipped: list[SkippedPage] = []  #: pages that the last `fetch` did not request
        self.skip_reasons: Counter[str] = Counter()  #: why it did not request pages, and how many

    def _check_minimum(self, minimum: float, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not value >= minimum:
                raise BadInput(f"LiveEngine: {name} must be at least {minimum}. Got {value!r}.")

    def __enter__(self) -> Self:
        with extra("crawl", "Fetching"):
            import scrapy  # noqa: F401
            import warcio  # noqa: F401

            from recrawl.fetch.reactor import reactor
        if not _open.acquire(blocking=False):
            raise BadInput("LiveEngine: another one is open in this process. Close it first.")
        try:
            if self.warc is not None:
                from recrawl.fetch.warc import Archive

                self._archive = Archive(Path(self.warc), self.contact)
                self._archive.open(self.clock())
            self._reactor = reactor()
            self._reactor.run(self._start())
        except BaseException:
            _open.release()
            raise
        self._closed = False
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the requests in flight, then release the network."""
        if self._closed:
            return
        self._closed = True
        self.stop()
        try:
            self._reactor.run(self._downloader.close())
            self.save_hosts()
            if self._archive is not None:
                self._archive.close()
        finally:
            _open.release()

    async def _start(self) -> None:
        from recrawl.fetch.download import Downloader

        self._downloader = Downloader(
            contact=self.contact,
            proxy=self.proxy,
            allow_private=self.allow_private,
            concurrency=self.concurrency,
            delay=self.delay,
            timeout=self.timeout,
            max_bytes=self.max_bytes,
            clock=self.clock,
            unread=lambda: self._dispatcher.unread_bytes(),
        )
        await self._downloader.open()
        self._hosts: HostQueues[FetchTask] = HostQueues(
            self.delay, self.host_concurrency, self.backoff
        )
        self._dispatcher = Dispatcher(
            self._downloader,
            hosts=self._hosts,
            concurrency=self.concurrency,
            allow_private=self.allow_private,
            clock=self.clock,
            address_of=self._downloader.address_of,
        )
        if self.hosts_file is not None:
            self._host_file = HostFile(Path(self.hosts_file))
            known = self._host_file.read(now=self.clock(), wall=time.time())  # noqa: TID251
            await self._dispatcher.restore(known)

    def fetch(self, plan: Planned, *, meanwhile: Callable[[], object] = bool) -> Iterator[pa.Table]:
        """Visit the pages of a plan; yields batches in the schema VISITS as responses come.

        `meanwhile` is called about every BATCH_SECONDS, also if no response comes.

        A row without `at` is the page that `leads_to` of a visit names: the target of a redirect,
        or the canonical URL that a page names on its own site.
        """
        call = FetchCall(
            deadline=monotonic() + self.deadline, max_unread=max(256, 2 * self.concurrency)
        )
        self.skipped = []
        self.skip_reasons = Counter()
        if self._stopped:
            return
        self._start_call(call, list(zip(plan.urls(), self._conditional_headers(plan), strict=True)))
        try:
            yield from self._batches(call, meanwhile)
        finally:
            self._calls.remove(call)
            self._reactor.schedule(self._dispatcher.stop, call, STOPPED)

    async def get_file(self, url: str, *, within: float = NEVER) -> FetchResult:
        """Fetch an auxiliary file such as a sitemap or feed, which is no visit; see `run_beside`.

        robots.txt is obeyed and redirects are followed. The result for a robots.txt itself may be
        empty; `sitemaps` uses it. The Content-Encoding of the body is undone. `within`: seconds
        after which it is not requested any more.
        """
        results: FutureResult = FutureResult()
        deadline = monotonic() + min(self.deadline, within)
        call = FetchCall(is_auxiliary=True, deadline=deadline, results=results)
        self._calls.append(call)
        try:
            self._dispatcher.start(call, [(urls.canonical(url), {})])
            if self._stopped:
                self._dispatcher.stop(call, STOPPED)
            result = await results.item
        finally:
            self._calls.remove(call)
            self._dispatcher.stop(call, STOPPED)
        unpacked = await asyncio.to_thread(
            unpack, result.body, result.header(b"Content-Encoding"), self.max_bytes
        )
        result.body = unpacked.body
        result.problem = result.problem or unpacked.problem
        return result

    def run_beside(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the thread of the network, which must not be blocked."""
        return asyncio.run_coroutine_threadsafe(work, self._reactor.loop)

    def call_beside(self, function: Callable[[], object]) -> None:
        """Have a function called in the thread of the network."""
        self._reactor.schedule(function)

    def sitemaps(self, host: str) -> list[str]:
        """The sitemaps that robots.txt of a host names; none if it was not read yet."""
        return self._dispatcher.sitemaps(host)

    def save_hosts(self) -> None:
        """Keep what hosts asked for in `hosts_file`, if something is new."""
        if self._host_file is None:
            self._reactor.schedule(self._dispatcher.forget_news)
        elif self._dispatcher.has_news:
            only_new = not self._host_file.is_due
            known = self._reactor.run(self._dispatcher.known(only_new=only_new))
            self._host_file.add(known, wall=time.time())  # noqa: TID251

    def delays(self) -> dict[str, float]:
        """Seconds between requests that robots.txt of a host asks for, as far as it was read."""
        return self._reactor.run(self._dispatcher.delays())

    def stop(self) -> None:
        """Send no more requests; `fetch` ends after those in flight."""
        self._stopped = True
        for call in list(self._calls):
            self._reactor.schedule(self._dispatcher.stop, call, STOPPED)

    @property
    def progress(self) -> Progress:
        """How far the engine is; cheap to compute."""
        state = self._dispatcher
        return Progress(
            state.fetched, state.failed, state.in_flight, self._hosts.waiting, self._hosts.n_due
        )

    def _start_call(self, call: FetchCall, requested: list[tuple[str, Mapping[str, str]]]) -> None:
        self._calls.append(call)
        self._reactor.schedule(self._dispatcher.start, call, requested)
        if self._stopped:  # by another thread meanwhile
            self._reactor.schedule(self._dispatcher.stop, call, STOPPED)

    def _conditional_headers(self, plan: Planned) -> Iterator[Mapping[str, str]]:
        """The headers that make the request for each page conditional."""
        if self.validators is None:
            return iter([{}] * len(plan))
        return map(conditional, *self.validators(plan.pages))

    def _batches(self, call: FetchCall, meanwhile: Callable[[], object]) -> Iterator[pa.Table]:
        rows: list[Row] = []
        visits, held, due, more = 0, 0, monotonic() + BATCH_SECONDS, True
        while more:
            items = _take_items(call, due - monotonic())
            more = None not in items
            results = [item for item in items if isinstance(item, FetchResult)]
            rows += self._record_skipped([item for item in items if isinstance(item, SkippedPage)])
            size = sum(len(result.body) for result in results)
            for result in results:
                rows += self._rows(result)
                held += sum(map(_content_size, rows[-2:]))
            self._reactor.schedule(self._dispatcher.acknowledge, call, len(results), size)
            visits += len(results)
            del items, results  # with their bodies
            is_full = visits >= BATCH_VISITS or held >= BATCH_CHARACTERS
            if not more or is_full or monotonic() >= due:
                self.save_hosts()  # on disk before the visits that taught it
                if rows:
                    yield self._batch(rows)
                meanwhile()
                rows, visits, held, due = [], 0, 0, monotonic() + BATCH_SECONDS

    def _batch(self, rows: list[Row]) -> pa.Table:
        if self._archive is not None:
            self._archive.flush()
        return visit_table(rows)

    def _record_skipped(self, skipped: list[SkippedPage]) -> list[Row]:
        """Rows for pages that robots.txt forbids: failed visits, or they would stay due forever."""
        self.skipped += skipped
        self.skip_reasons.update(skip.reason for skip in skipped)
        forbidden = [skip.url for skip in skipped if skip.reason == ROBOTS_FORBIDS]
        at = round(self.clock() * 1e6)
        row: Row = {"at": at, "status": NO_ANSWER, "skipped": True, "problem": ROBOTS_FORBIDS}
        return [row | {"url": url} for url in forbidden]

    def _rows(self, result: FetchResult) -> list[Row]:
        """The visit, and the page that it redirects to or names as canonical, if any."""
        visit = read_response(result.to_response(), max_body_bytes=self.max_bytes)
        if result.seconds is None:
            self.skip_reasons[result.problem or ""] += 1
        is_complete = visit.row["status"] == result.status
        if self._archive is not None and is_complete:
            self._archive.add(result)
        target = result.target if result.is_redirect else visit.canonical
        if not target or target == result.url:
            return [visit.row]
        if is_private(target) and not self.allow_private:
            return [visit.row | {"problem": LEADS_TO_PRIVATE}]
        return [visit.row | {"leads_to": target}, {"url": target}]


def _check_contact(contact: str | None, *, needed: bool) -> None:
    if needed and not contact:
        raise BadInput(
            "LiveEngine: contact must be a URL or an e-mail address when public hosts are "
            "fetched, so that those who run them can reach you. Got none; pass contact=…"
        )
    if contact and not (contact.isascii() and contact.isprintable()):
        raise BadInput(f"LiveEngine: contact must be plain ASCII. Got {contact!r}; correct it.")


def _check_proxy(proxy: str | None) -> None:
    parts = urlsplit(proxy or "http://none")
    if parts.scheme != "http" or not parts.hostname or parts.username or parts.password:
        raise BadInput(
            "LiveEngine: proxy must be http://host:port, without user name and password. "
            f"Got one with scheme {parts.scheme!r} and host {parts.hostname!r}; correct it."
        )


def _is_large(item: CallItem) -> bool:
    """Whether a result is read alone, as its body takes much memory."""
    return isinstance(item, FetchResult) and len(item.body) > _LARGE_BYTES


def _content_size(row: Row) -> int:
    """Characters of the text and links of a visit."""
    return len(row.get("text") or "") + sum(map(len, row.get("links") or ()))


def _take_items(call: FetchCall, timeout: float) -> list[CallItem]:
    """Items that wait to be read, after waiting for the first until `timeout`."""
    items: list[CallItem] = []
    assert isinstance(call.results, SimpleQueue)  # as those of all calls for pages
    with suppress(Empty):
        items.append(call.results.get(timeout=max(timeout, 0.0)))
        while len(items) < _MAX_ITEMS_READ and items[-1] is not None and not _is_large(items[-1]):
            items.append(call.results.get_nowait())
    for item in items:
        if isinstance(item, BaseException):
            raise item
    return items
