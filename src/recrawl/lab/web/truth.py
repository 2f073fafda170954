"""What is at this address, at this time? The trace, by URL instead of by column."""

from __future__ import annotations

import logging
from bisect import bisect_right
from typing import TYPE_CHECKING

from recrawl import units
from recrawl.errors import BadInput, BadUrl
from recrawl.urls import canonical, host, resolved

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import Time

_log = logging.getLogger(__name__)


def as_http(url: str) -> str:
    """The same address without TLS, which a proxy could not look into."""
    return "http://" + url[8:] if url[:8].lower() == "https://" else url


class Truth:
    """A trace as one server sees it: a page at a time, all addresses http."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.urls = [as_http(canonical(url)) for url in trace.urls]  #: of each page, as served
        self._page: dict[str, int] = {}
        self.hosts: dict[str, list[int]] = {}  #: and their pages
        for page, url in enumerate(self.urls):
            if self._page.setdefault(url, page) == page:
                self.hosts.setdefault(host(url), []).append(page)
        if len(self._page) < len(self.urls):
            hidden = units.count(len(self.urls) - len(self._page), "page")
            _log.warning("%s not served: there is another with the same address.", hidden)
        self._start: list[int] = trace.start.tolist()
        self._status: list[int] = trace.status.tolist()
        self._text, self._links = trace.contents["text"], trace.contents["links"]

    def page(self, url: str) -> int | None:
        """The page with that address, however it is spelled."""
        found = self._page.get(url)
        if found is None:
            try:
                found = self._page.get(as_http(canonical(url)))
            except BadUrl:
                return None
        return found

    def version(self, page: int, at: Time) -> int:
        """The version of one page at a time; -1 before its first."""
        first, end = self._start[page], self._start[page + 1]
        last = bisect_right(self.trace.valid_from, at, first, end) - 1
        return last if last >= first else -1

    def status(self, version: int) -> int:
        """404 before the first version, and for a status that is no answer to give."""
        status = self._status[version] if version >= 0 else 404
        return status if status == 200 or 400 <= status < 600 else 404

    def changed(self, version: int) -> Time:
        return float(self.trace.valid_from[version])

    def edition(self, version: int) -> str:
        """Equal for equal content."""
        return f"{int(self.trace.content[version]):016x}"

    def text(self, version: int) -> str:
        return self._text[version].as_py() or ""

    def links(self, version: int) -> list[str]:
        """Those that are addresses, each once, in an order that depends on nothing else."""
        page = self.trace.urls[bisect_right(self._start, version) - 1]
        found = resolved(self._links[version].as_py() or (), page)
        return sorted({as_http(link) for link in found if link is not None})

    def alive(self, at: Time) -> list[str]:
        """The addresses of all pages that are there."""
        version = self.trace.version_at(at).tolist()
        there = (page for page, v in enumerate(version) if self.status(v) == 200)
        return [self.urls[page] for page in there if self._page[self.urls[page]] == page]

    def say(self, url: str, at: Time) -> dict[str, object]:
        """What a crawler should find, for tests."""
        page = self.page(url)
        if page is None:
            raise BadInput(f"url must be a page of the trace. Got {url!r}.")
        version = self.version(page, at)
        born = version >= 0
        return {
            "url": self.urls[page],
            "now": at,
            "status": self.status(version),
            "version": version - self._start[page] if born else None,
            "content": int(self.trace.content[version]) if born else None,
            "valid_from": self.changed(version) if born else None,
        }
