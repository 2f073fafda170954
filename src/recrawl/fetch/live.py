"""Carry out a plan on the web: politely, within bounds, as visits in batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import urlsplit

from recrawl import urls
from recrawl.errors import BadInput, extra
from recrawl.fetch.addresses import is_private
from recrawl.fetch.answer import Answer, Skipped
from recrawl.fetch.dispatch import FORBIDDEN, Dispatcher, Run
from recrawl.fetch.hosts import Hosts
from recrawl.page.decode import unpack
from recrawl.page.responses import NO_ANSWER, Response, conditional, read_response
from recrawl.page.visit_rows import visit_table

if TYPE_CHECKING:
    import pyarrow as pa

    from recrawl.fetch.dispatch import Item, Task
    from recrawl.fetch.warc import Archive
    from recrawl.model import Pages
    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Planned

BATCH = 200  #: visits, or
BATCH_SECONDS = 2.0  #: so much time, make a batch
_AT_ONCE = 50  # answers read before the network is told that there is room

#: ETags and times of Last-Modified of pages, None where one has none.
Validators = Callable[["Pages"], tuple[Sequence[str | None], Sequence[float | None]]]

_open = threading.Lock()  # one engine at a time: names are resolved as the open one allows


class Progress(NamedTuple):
    """How far the engine is."""

    fetched: int  #: pages that answered, over its whole life
    failed: int  #: pages that did not
    in_flight: int
    waiting: int  #: pages not yet asked for
    hosts: int  #: hosts that wait for their turn


class LiveEngine:
    """Fetches pages from the web with Scrapy. To be used with `with`; one at a time in a process.

    `delay` seconds lie between the end of an answer and the next request to its host, more if its
    robots.txt asks for it. A page whose host cannot be asked within `deadline` seconds of `fetch`
    is not visited. Certificates are verified: a page with invalid TLS is a failed visit. Addresses
    that are not public are refused unless `allow_private`; a `proxy` (http://host:port) resolves
    names itself, so then only addresses written in URLs are. `contact` is how those who run the
    hosts can reach you. `clock` tells the time of a visit and nothing else: pauses are in real
    seconds. `validators` gives what to send with conditional requests, `warc` the folder of an
    archive.
    """

    def __init__(
        self,
        *,
        contact: str | None = None,
        proxy: str | None = None,
        allow_private: bool = False,
        delay: float = 1.0,
        host_concurrency: int = 1,
        concurrency: int = 32,
        timeout: float = 30.0,
        deadline: float = 3600.0,
        backoff: float = 1.0,
        max_bytes: int = 10_000_000,
        validators: Validators | None = None,
        warc: str | Path | None = None,
        clock: Callable[[], float] = time.time,  # noqa: TID251 - the live engine reads a clock
    ) -> None:
        _check_contact(contact, needed=not (proxy or allow_private))
        _check_proxy(proxy)
        _check_least(0, delay=delay, deadline=deadline, backoff=backoff)
        _check_least(1, host_concurrency=host_concurrency, concurrency=concurrency)
        _check_least(0.1, timeout=timeout)
        _check_least(1, max_bytes=max_bytes)
        self._contact = contact
        self._proxy = proxy
        self._allow_private = allow_private
        self._delay = delay
        self._host_concurrency = host_concurrency
        self._concurrency = concurrency
        self._timeout = timeout
        self._deadline = deadline
        self._backoff = backoff
        self._max_bytes = max_bytes
        self._validators = validators
        self._folder = None if warc is None else Path(warc)
        self._clock = clock
        self._runs: list[Run] = []
        self._stopped = False
        self._closed = True
        self._archive: Archive | None = None
        self.skipped: list[Skipped] = []  #: pages the last `fetch` did not ask for, and why

    def __enter__(self) -> Self:
        with extra("crawl", "Fetching"):
            from recrawl.fetch.reactor import reactor

            _import_scrapy()
        if not _open.acquire(blocking=False):
            raise BadInput("LiveEngine: another one is open in this process. Close it first.")
        try:
            if self._folder is not None:
                from recrawl.fetch.warc import Archive

                self._archive = Archive(self._folder, self._contact)
                self._archive.open(self._clock())
            self._reactor = reactor()
            self._reactor.call(self._start())
        except BaseException:
            _open.release()
            raise
        self._closed = False
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let requests in flight end, and release the network."""
        if self._closed:
            return
        self._closed = True
        self.stop()
        try:
            self._reactor.call(self._downloader.close())
            if self._archive is not None:
                self._archive.close()
        finally:
            _open.release()

    async def _start(self) -> None:
        from recrawl.fetch.download import Downloader

        self._downloader = Downloader(
            contact=self._contact,
            proxy=self._proxy,
            allow_private=self._allow_private,
            concurrency=self._concurrency,
            delay=self._delay,
            timeout=self._timeout,
            max_bytes=self._max_bytes,
            clock=self._clock,
        )
        await self._downloader.open()
        self._hosts: Hosts[Task] = Hosts(self._delay, self._host_concurrency, self._backoff)
        self._dispatcher = Dispatcher(
            self._downloader,
            hosts=self._hosts,
            concurrency=self._concurrency,
            allow_private=self._allow_private,
            clock=self._clock,
        )

    def fetch(self, plan: Planned) -> Iterator[pa.Table]:
        """Visit the pages of a plan; batches in the schema VISITS as answers come.

        A row without `at` is a page that an answer led to: the target of a redirect, or the
        canonical URL that a page names on its own site.
        """
        run = Run(ends=monotonic() + self._deadline, room=max(256, 2 * self._concurrency))
        self.skipped = []
        if self._stopped:
            return
        self._begin(run, list(zip(plan.urls(), self._conditions(plan), strict=True)))
        try:
            yield from self._batches(run)
        finally:
            self._runs.remove(run)
            self._reactor.soon(self._dispatcher.end, run, "the engine was stopped")

    def get(self, asked: Sequence[str]) -> list[Answer]:
        """Ask for robots-abiding auxiliary files, such as sitemaps and feeds: no visits.

        Redirects are followed; a robots.txt is read for `sitemaps`, and not handed out. Bodies come
        without their Content-Encoding; a problem is in `Answer.problem`. May be called between two
        batches of `fetch`.
        """
        runs = [Run(auxiliary=True, ends=monotonic() + self._deadline) for _ in asked]
        for run, url in zip(runs, asked, strict=True):
            self._begin(run, [(urls.canonical(url), {})])
        answers = [self._one(run) for run in runs]
        for run, answer in zip(runs, answers, strict=True):
            self._runs.remove(run)
            found = unpack(answer.body, answer.header(b"Content-Encoding"), self._max_bytes)
            answer.body = found.body
            answer.problem = answer.problem or found.problem
        return answers

    def sitemaps(self, host: str) -> list[str]:
        """The sitemaps named in the robots.txt of a host, if that was read already."""
        return self._reactor.call(_now(lambda: self._dispatcher.sitemaps(host)))

    def stop(self) -> None:
        """Send no more requests; `fetch` ends when those in flight have ended."""
        self._stopped = True
        for run in list(self._runs):
            self._reactor.soon(self._dispatcher.end, run, "the engine was stopped")

    @property
    def progress(self) -> Progress:
        """How far it is; cheap enough to be asked often."""
        at = self._dispatcher
        return Progress(
            at.fetched, at.failed, at.in_flight, self._hosts.waiting, self._hosts.busy()
        )

    def _begin(self, run: Run, asked: list[tuple[str, Mapping[str, str]]]) -> None:
        self._runs.append(run)
        self._reactor.soon(self._dispatcher.begin, run, asked)
        if self._stopped:  # between two lines
            self._reactor.soon(self._dispatcher.end, run, "the engine was stopped")

    def _one(self, run: Run) -> Answer:
        answer = run.answers.get()
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, Answer)  # auxiliary tasks are answered, not skipped
        return answer

    def _conditions(self, plan: Planned) -> Iterator[Mapping[str, str]]:
        """What to send with each page so that an unchanged one need not be sent."""
        if self._validators is None:
            return iter([{}] * len(plan))
        return map(conditional, *self._validators(plan.pages))

    def _batches(self, run: Run) -> Iterator[pa.Table]:
        rows: list[Row] = []
        visits, due, more = 0, monotonic() + BATCH_SECONDS, True
        while more:
            items = _taken(run, due - monotonic())
            more = None not in items
            answers = [item for item in items if isinstance(item, Answer)]
            rows += self._note([item for item in items if isinstance(item, Skipped)])
            size = sum(len(answer.body) for answer in answers)
            self._reactor.soon(self._dispatcher.read, run, len(answers), size)
            for answer in answers:
                rows += self._rows(answer)
            visits += len(answers)
            if not more or visits >= BATCH or monotonic() >= due:
                if rows:
                    yield self._batch(rows)
                rows, visits, due = [], 0, monotonic() + BATCH_SECONDS

    def _batch(self, rows: list[Row]) -> pa.Table:
        if self._archive is not None:
            self._archive.flush()
        return visit_table(rows)

    def _note(self, skipped: list[Skipped]) -> list[Row]:
        """Pages that robots.txt forbids are recorded as failed: else they would stay due for ever.

        Unlike those of requests, these rows have no `seconds`.
        """
        self.skipped += skipped
        forbidden = [skip.url for skip in skipped if skip.reason == FORBIDDEN]
        at = round(self._clock() * 1e6)
        return [{"url": url, "at": at, "status": NO_ANSWER} for url in forbidden]

    def _rows(self, answer: Answer) -> list[Row]:
        """The visit, and the page that the answer names instead, if any."""
        headers = answer.first_headers()
        response = Response(
            answer.url, answer.at, answer.status, headers, answer.body, answer.seconds
        )
        visit = read_response(response, max_body_bytes=self._max_bytes)
        if self._archive is not None and visit.row["status"] == answer.status:  # it came whole
            self._archive.add(answer)
        target = answer.target if answer.is_redirect else visit.canonical
        if target and target != answer.url and (self._allow_private or not is_private(target)):
            return [visit.row, {"url": target}]
        return [visit.row]


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


def _check_least(least: float, **values: float) -> None:
    for name, value in values.items():
        if not value >= least:
            raise BadInput(f"LiveEngine: {name} must be at least {least}. Got {value!r}.")


def _import_scrapy() -> None:
    """Fail early where the extra is not installed."""
    import scrapy  # noqa: F401
    import warcio  # noqa: F401


def _taken(run: Run, timeout: float) -> list[Item]:
    """What waits to be read, at least one if it comes in time, and not too much at once."""
    items: list[Item] = []
    with suppress(Empty):
        items.append(run.answers.get(timeout=max(timeout, 0.0)))
        while len(items) < _AT_ONCE and items[-1] is not None:
            items.append(run.answers.get_nowait())
    for item in items:
        if isinstance(item, BaseException):
            raise item
    return items


async def _now(function: Callable[[], list[str]]) -> list[str]:
    return function()
