"""What is at a URL at a time? The trace by URL instead of by column."""

from __future__ import annotations

import logging
from bisect import bisect_right
from typing import TYPE_CHECKING

from recrawl import units
from recrawl.errors import BadInput, BadUrl
from recrawl.urls import canonical, host, resolve_links

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import Time

_log = logging.getLogger(__name__)


def as_http(url: str) -> str:
    """The same URL without TLS, which a proxy could not read."""
    return "http://" + url[8:] if url[:8].lower() == "https://" else url


class Truth:
    """A trace as a server needs it: one page at a time, all URLs http."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.urls = [as_http(canonical(url)) for url in trace.urls]  #: of each page, as served
        self._page: dict[str, int] = {}
        self.hosts: dict[str, list[int]] = {}  #: pages of each host
        for page, url in enumerate(self.urls):
            if self._page.setdefault(url, page) == page:
                self.hosts.setdefault(host(url), []).append(page)
        if len(self._page) < len(self.urls):
            hidden = units.count(len(self.urls) - len(self._page), "page")
            _log.warning("%s not served: another page has the same URL.", hidden)
        self._start: list[int] = trace.start.tolist()
        self._status: list[int] = trace.status.tolist()
        self._text, self._links = trace.contents["text"], trace.contents["links"]

    def page(self, url: str) -> int | None:
        """The page at a URL, in whichever spelling; None if there is none."""
        page = self._page.get(url)
        if page is None:
            try:
                page = self._page.get(as_http(canonical(url)))
            except BadUrl:
                return None
        return page

    def version(self, page: int, at: Time) -> int:
        """The version of one page at a time; -1 before its first."""
        first, end = self._start[page], self._start[page + 1]
        last = bisect_right(self.trace.valid_from, at, first, end) - 1
        return last if last >= first else -1

    def status(self, version: int) -> int:
        """The status to respond: 200, an error, or 404 for others and before the first version."""
        status = self._status[version] if version >= 0 else 404
        return status if status == 200 or 400 <= status < 600 else 404

    def changed(self, version: int) -> Time:
        return float(self.trace.valid_from[version])

    def edition(self, version: int) -> str:
        """A text that is equal for equal contents."""
        return f"{int(self.trace.content[version]):016x}"

    def text(self, version: int) -> str:
        return self._text[version].as_py() or ""

    def links(self, version: int) -> list[str]:
        """The links that are URLs, each once and sorted."""
        page = self.trace.urls[bisect_right(self._start, version) - 1]
        links = resolve_links(self._links[version].as_py() or (), page)
        return sorted({as_http(link) for link in links if link is not None})

    def alive(self, at: Time) -> list[str]:
        """The URLs of all pages that exist at a time."""
        version = self.trace.version_at(at).tolist()
        there = (page for page, v in enumerate(version) if self.status(v) == 200)
        return [self.urls[page] for page in there if self._page[self.urls[page]] == page]

    def describe(self, url: str, at: Time) -> dict[str, object]:
        """What a crawler should find at a URL, for tests."""
        page = self.page(url)
        if page is None:
            raise BadInput(f"url must be a page of the trace. Got {url!r}.")
        version = self.version(page, at)
        exists = version >= 0
        return {
            "url": self.urls[page],
            "now": at,
            "status": self.status(version),
            "version": version - self._start[page] if exists else None,
            "content": int(self.trace.content[version]) if exists else None,
            "valid_from": self.changed(version) if exists else None,
        }
