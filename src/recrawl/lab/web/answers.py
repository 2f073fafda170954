"""What does a host of the trace answer, at this time, with its manners?"""

from __future__ import annotations

import gzip
import re
from email.utils import formatdate
from functools import lru_cache
from typing import TYPE_CHECKING

from recrawl import units
from recrawl.errors import BadInput
from recrawl.lab.web import render
from recrawl.lab.web.message import HTML, Answer
from recrawl.model import DAY
from recrawl.page.responses import NO_ANSWER
from recrawl.page.times import header_micros

if TYPE_CHECKING:
    from recrawl.lab.web.manners import Manner, Manners
    from recrawl.lab.web.message import Request
    from recrawl.lab.web.truth import Truth
    from recrawl.model import Time

SITEMAP = 5_000  #: most addresses in a sitemap
_SITEMAP_PATH = re.compile(r"/sitemap(?:-([1-9]\d{0,5}))?\.xml")
_TAG = re.compile(r'"[^"]*"')
_WORTH_PACKING = 400  # bytes


class Answers:
    """Answers for all hosts of a trace. Counts requests, for what differs from one to the next."""

    def __init__(self, truth: Truth, manners: Manners) -> None:
        self._truth = truth
        self._manners = manners
        self._manner: dict[str, Manner] = {}
        self._asked: dict[str, int] = {}
        for down in manners.down:
            if down.host not in truth.hosts:
                raise BadInput(f"The host that is down must be one of the trace. Got {down.host}.")

    def to(self, request: Request, now: Time) -> Answer:
        """The answer; status `NO_ANSWER` for a host that is down."""
        host = request.host
        if host not in self._truth.hosts:
            return problem(502, f"No page of the trace is on the host {host}.")
        manner = self._manner.get(host)
        if manner is None:
            manner = self._manner[host] = self._manners.of(host)
        number = self._asked[host] = self._asked.get(host, -1) + 1
        if self._is_down(host, now):
            return Answer(NO_ANSWER)
        if request.method not in ("GET", "HEAD"):
            return problem(405, "Pages can only be read.", "Allow: GET, HEAD\r\n")
        failing = manner.failing and request.path != "/robots.txt"
        if failing and self._manners.fails(host, number):
            later = f"Retry-After: {self._manners.retry_after}\r\n"
            answer = problem(503, "Too much to do; come back later.", later)
        else:
            answer = self._found(request, manner, now)
        return answer._replace(delay=self._manners.latency) if manner.slow else answer

    def _is_down(self, host: str, now: Time) -> bool:
        day = (now - self._truth.trace.window[0]) / DAY
        return any(d.host == host and d.begin <= day < d.end for d in self._manners.down)

    def _found(self, request: Request, manner: Manner, now: Time) -> Answer:
        page = self._truth.page(request.url)
        if page is not None:
            return self._page(request, page, manner, now, moved=False)
        if request.path == "/robots.txt":
            return _packed(request, self._robots(request.host, manner), "text/plain")
        sitemap = _SITEMAP_PATH.fullmatch(request.path)
        if sitemap:
            return self._sitemap(request, int(sitemap[1] or 0), manner, now)
        page = self._truth.page(request.url[: -len("?moved")])
        there = request.url.endswith(("?moved", "&moved"))
        if there and page is not None and self._manners.moved(self._truth.urls[page]):
            return self._page(request, page, manner, now, moved=True)
        return problem(404, "There never was such a page.")

    def _page(
        self, request: Request, page: int, manner: Manner, now: Time, *, moved: bool
    ) -> Answer:
        version = self._truth.version(page, now)
        status = self._truth.status(version)
        if status != 200:
            return problem(status, "The page is gone." if version >= 0 else "Not there yet.")
        if not moved and self._manners.moved(self._truth.urls[page]):
            url = self._truth.urls[page]
            to = f"Location: {url}{'&' if '?' in url else '?'}moved\r\n"
            return problem(301, "The page has another address.", to)
        edition = self._truth.edition(version)
        changed = self._truth.changed(version)
        if _unmodified(request.headers, edition, changed, manner):
            return Answer(304, headers=_validators(edition, changed, manner, weak=False))
        body = render.page(self._truth.text(version), self._truth.links(version), edition)
        packed = _packed(request, body, HTML)
        weak = len(packed.body) != len(body)  # other bytes, the same page
        if manner.validators == "wrong":
            edition, changed = f"{self._asked[request.host]:x}", now
        headers = packed.headers + _validators(edition, changed, manner, weak=weak)
        return packed._replace(headers=headers)

    def _robots(self, host: str, manner: Manner) -> bytes:
        lines = ["User-agent: *", "Disallow: /private/"]
        if manner.closed:
            lines.append(f"Disallow: {self._directory(host)}")
        if self._manners.robots_delay:
            lines.append(f"Crawl-delay: {self._manners.robots_delay:g}")
        return "\n".join([*lines, "", f"Sitemap: http://{host}/sitemap.xml", ""]).encode()

    def _directory(self, host: str) -> str:
        """One of the directories of a host that are not in another."""
        urls = (self._truth.urls[page].partition("?")[0] for page in self._truth.hosts[host])
        paths = (url.split("/", 3)[3] for url in urls)
        found = sorted({f"/{path.split('/')[0]}/" for path in paths if "/" in path})
        return found[self._manners.pick(host, len(found))] if found else "/private/"

    def _sitemap(self, request: Request, part: int, manner: Manner, now: Time) -> Answer:
        """Part 0 is the whole, or where the parts are."""
        pages = self._truth.hosts[request.host]
        parts = -(-len(pages) // SITEMAP)
        if part == 0 and parts > 1:
            names = (f"http://{request.host}/sitemap-{i}.xml" for i in range(1, parts + 1))
            return _packed(request, render.sitemap_index(names), "application/xml")
        if part > (parts if parts > 1 else 0):
            return problem(404, "There is no such sitemap.")
        first = max(part - 1, 0) * SITEMAP
        at = self._truth.trace.window[0] if manner.lastmod == "stale" else now
        entries = []
        for page in pages[first : first + SITEMAP]:
            version = self._truth.version(page, at)
            if self._truth.status(version) == 200:
                changed = now if manner.lastmod == "restamped" else self._truth.changed(version)
                entries.append((self._truth.urls[page], units.show_time(changed)))
        return _packed(request, render.sitemap(entries), "application/xml")


def problem(status: int, sentence: str, headers: str = "") -> Answer:
    """An answer that only says why."""
    body = render.note(str(status), sentence)
    return Answer(status, body, f"Content-Type: {HTML}\r\n{headers}")


def _packed(request: Request, body: bytes, content_type: str) -> Answer:
    headers = f"Content-Type: {content_type}\r\nVary: Accept-Encoding\r\n"
    if len(body) >= _WORTH_PACKING and _takes_gzip(request.headers.get("accept-encoding", "")):
        packed = gzip.compress(body, compresslevel=1, mtime=0)
        return Answer(200, packed, headers + "Content-Encoding: gzip\r\n")
    return Answer(200, body, headers)


@lru_cache(maxsize=100)
def _takes_gzip(accepted: str) -> bool:
    for each in accepted.lower().split(","):
        name, _, quality = each.partition(";")
        if name.strip() == "gzip":
            return not re.fullmatch(r"\s*q=0(\.0*)?\s*", quality)
    return False


def _unmodified(headers: dict[str, str], edition: str, changed: Time, manner: Manner) -> bool:
    """Is the client's copy the page as it is, or does the host say so?"""
    tags, since = headers.get("if-none-match"), headers.get("if-modified-since")
    if tags is None and since is None:
        return False
    if manner.validators != "right":
        return manner.validators == "lying"
    if tags is not None:
        return tags.strip() == "*" or f'"{edition}"' in _TAG.findall(tags)
    return int(changed) * 1_000_000 <= (header_micros(since) or -1)


def _validators(edition: str, changed: Time, manner: Manner, *, weak: bool) -> str:
    if manner.validators == "none":
        return ""
    tag = f'W/"{edition}"' if weak else f'"{edition}"'
    return f"ETag: {tag}\r\nLast-Modified: {date(int(changed))}\r\n"


@lru_cache(maxsize=10_000)
def date(at: int) -> str:
    """A time as HTTP writes it."""
    return formatdate(at, usegmt=True)
