"""What does a host of the trace respond at a given time, with its behaviour?"""

from __future__ import annotations

import gzip
import re
from email.utils import formatdate
from functools import lru_cache
from typing import TYPE_CHECKING

from recrawl import units
from recrawl.errors import BadInput
from recrawl.lab.web import render
from recrawl.lab.web.message import HTML, WebResponse
from recrawl.model import DAY
from recrawl.page.responses import NO_ANSWER
from recrawl.page.times import header_micros

if TYPE_CHECKING:
    from recrawl.lab.web.behaviours import Behaviours, HostBehaviour
    from recrawl.lab.web.message import Request
    from recrawl.lab.web.truth import Truth
    from recrawl.model import Time

MAX_SITEMAP_URLS = 5_000
_SITEMAP_PATH = re.compile(r"/sitemap(?:-([1-9]\d{0,5}))?\.xml")
_TAG = re.compile(r'"[^"]*"')
_MIN_COMPRESSED_BYTES = 400


class Responder:
    """Responds for all hosts of a trace. Counts requests: some responses depend on the number."""

    def __init__(self, truth: Truth, behaviours: Behaviours) -> None:
        self._truth = truth
        self._behaviours = behaviours
        self._behaviour_of: dict[str, HostBehaviour] = {}
        self._n_requests: dict[str, int] = {}
        for down in behaviours.down:
            if down.host not in truth.hosts:
                raise BadInput(f"The host that is down must be one of the trace. Got {down.host}.")

    def respond(self, request: Request, now: Time) -> WebResponse:
        """The response at a time; its status is `NO_ANSWER` if the host is down."""
        host = request.host
        if host not in self._truth.hosts:
            return error_page(502, f"No page of the trace is on the host {host}.")
        behaviour = self._behaviour_of.get(host)
        if behaviour is None:
            behaviour = self._behaviour_of[host] = self._behaviours.of(host)
        number = self._n_requests[host] = self._n_requests.get(host, -1) + 1
        if self._is_down(host, now):
            return WebResponse(NO_ANSWER)
        if request.method not in ("GET", "HEAD"):
            return error_page(405, "Pages can only be read.", "Allow: GET, HEAD\r\n")
        failing = behaviour.failing and request.path != "/robots.txt"
        if failing and self._behaviours.fails(host, number):
            later = f"Retry-After: {self._behaviours.retry_after}\r\n"
            response = error_page(503, "Too busy; come back later.", later)
        else:
            response = self._respond(request, behaviour, now)
        return response._replace(delay=self._behaviours.latency) if behaviour.slow else response

    def _is_down(self, host: str, now: Time) -> bool:
        day = (now - self._truth.trace.window[0]) / DAY
        return any(d.host == host and d.begin <= day < d.end for d in self._behaviours.down)

    def _respond(self, request: Request, behaviour: HostBehaviour, now: Time) -> WebResponse:
        page = self._truth.page(request.url)
        if page is not None:
            return self._page(request, page, behaviour, now, moved=False)
        if request.path == "/robots.txt":
            return _compressed(request, self._robots(request.host, behaviour), "text/plain")
        sitemap = _SITEMAP_PATH.fullmatch(request.path)
        if sitemap:
            return self._sitemap(request, int(sitemap[1] or 0), behaviour, now)
        page = self._truth.page(request.url[: -len("?moved")])
        is_target = request.url.endswith(("?moved", "&moved"))
        if is_target and page is not None and self._behaviours.moved(self._truth.urls[page]):
            return self._page(request, page, behaviour, now, moved=True)
        return error_page(404, "There never was such a page.")

    def _page(
        self, request: Request, page: int, behaviour: HostBehaviour, now: Time, *, moved: bool
    ) -> WebResponse:
        version = self._truth.version(page, now)
        status = self._truth.status(version)
        if status != 200:
            return error_page(status, "The page is gone." if version >= 0 else "Not there yet.")
        if not moved and self._behaviours.moved(self._truth.urls[page]):
            url = self._truth.urls[page]
            location = f"Location: {url}{'&' if '?' in url else '?'}moved\r\n"
            return error_page(301, "The page has another address.", location)
        edition = self._truth.edition(version)
        changed = self._truth.changed(version)
        if _is_unmodified(request.headers, edition, changed, behaviour):
            return WebResponse(304, headers=_validators(edition, changed, behaviour, weak=False))
        body = render.page(self._truth.text(version), self._truth.links(version), edition)
        packed = _compressed(request, body, HTML)
        weak = len(packed.body) != len(body)  # the same page in other bytes
        if behaviour.validators == "wrong":
            edition, changed = f"{self._n_requests[request.host]:x}", now
        headers = packed.headers + _validators(edition, changed, behaviour, weak=weak)
        return packed._replace(headers=headers)

    def _robots(self, host: str, behaviour: HostBehaviour) -> bytes:
        lines = ["User-agent: *", "Disallow: /private/"]
        if behaviour.disallows:
            lines.append(f"Disallow: {self._directory(host)}")
        if self._behaviours.robots_delay:
            lines.append(f"Crawl-delay: {self._behaviours.robots_delay:g}")
        return "\n".join([*lines, "", f"Sitemap: http://{host}/sitemap.xml", ""]).encode()

    def _directory(self, host: str) -> str:
        """One of the top-level directories of a host, drawn at random."""
        urls = (self._truth.urls[page].partition("?")[0] for page in self._truth.hosts[host])
        paths = (url.split("/", 3)[3] for url in urls)
        directories = sorted({f"/{path.split('/')[0]}/" for path in paths if "/" in path})
        return (
            directories[self._behaviours.pick(host, len(directories))]
            if directories
            else "/private/"
        )

    def _sitemap(
        self, request: Request, part: int, behaviour: HostBehaviour, now: Time
    ) -> WebResponse:
        """A part of the sitemap; part 0 is the whole, or the index of the parts."""
        pages = self._truth.hosts[request.host]
        parts = -(-len(pages) // MAX_SITEMAP_URLS)
        if part == 0 and parts > 1:
            names = (f"http://{request.host}/sitemap-{i}.xml" for i in range(1, parts + 1))
            return _compressed(request, render.sitemap_index(names), "application/xml")
        if part > (parts if parts > 1 else 0):
            return error_page(404, "There is no such sitemap.")
        first = max(part - 1, 0) * MAX_SITEMAP_URLS
        at = self._truth.trace.window[0] if behaviour.lastmod == "stale" else now
        entries = []
        for page in pages[first : first + MAX_SITEMAP_URLS]:
            version = self._truth.version(page, at)
            if self._truth.status(version) == 200:
                changed = now if behaviour.lastmod == "restamped" else self._truth.changed(version)
                entries.append((self._truth.urls[page], units.show_time(changed)))
        return _compressed(request, render.sitemap(entries), "application/xml")


def error_page(status: int, sentence: str, headers: str = "") -> WebResponse:
    """A response that only states a reason."""
    body = render.note(str(status), sentence)
    return WebResponse(status, body, f"Content-Type: {HTML}\r\n{headers}")


def _compressed(request: Request, body: bytes, content_type: str) -> WebResponse:
    headers = f"Content-Type: {content_type}\r\nVary: Accept-Encoding\r\n"
    if len(body) >= _MIN_COMPRESSED_BYTES and _accepts_gzip(
        request.headers.get("accept-encoding", "")
    ):
        packed = gzip.compress(body, compresslevel=1, mtime=0)
        return WebResponse(200, packed, headers + "Content-Encoding: gzip\r\n")
    return WebResponse(200, body, headers)


@lru_cache(maxsize=100)
def _accepts_gzip(accepted: str) -> bool:
    for each in accepted.lower().split(","):
        name, _, quality = each.partition(";")
        if name.strip() == "gzip":
            return not re.fullmatch(r"\s*q=0(\.0*)?\s*", quality)
    return False


def _is_unmodified(
    headers: dict[str, str], edition: str, changed: Time, behaviour: HostBehaviour
) -> bool:
    """Whether the response is a 304: the copy of the client is current, or the host lies."""
    tags, since = headers.get("if-none-match"), headers.get("if-modified-since")
    if tags is None and since is None:
        return False
    if behaviour.validators != "right":
        return behaviour.validators == "lying"
    if tags is not None:
        return tags.strip() == "*" or f'"{edition}"' in _TAG.findall(tags)
    return int(changed) * 1_000_000 <= (header_micros(since) or -1)


def _validators(edition: str, changed: Time, behaviour: HostBehaviour, *, weak: bool) -> str:
    if behaviour.validators == "none":
        return ""
    tag = f'W/"{edition}"' if weak else f'"{edition}"'
    return f"ETag: {tag}\r\nLast-Modified: {date(int(changed))}\r\n"


@lru_cache(maxsize=10_000)
def date(at: int) -> str:
    """A time in the format of HTTP headers."""
    return formatdate(at, usegmt=True)
