"""Sitemaps and feeds → the pages they name, and when they say that each changed."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from recrawl import urls
from recrawl.errors import BadUrl
from recrawl.model import DAY
from recrawl.page.decode import unpack

if TYPE_CHECKING:
    from recrawl.model import Time

MAX_ENTRIES = 50_000  #: of one file: the limit of the sitemap protocol
MAX_ELEMENTS = 500_000  #: of one file that are read
MAX_UNPACKED_BYTES = 50_000_000  #: of one file
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
#: Root element → the element of an entry.
_ENTRY_TAGS = {"urlset": "url", "sitemapindex": "sitemap", "rss": "item", "feed": "entry"}
_log = logging.getLogger(__name__)


class SitemapEntry(NamedTuple):
    """A page that a site names, and when the site says that it changed."""

    url: str
    changed: Time | None


class SitemapFile(NamedTuple):
    """What a sitemap or feed holds."""

    kind: str  #: root element: urlset, sitemapindex, rss, feed; any other file has no entries
    entries: list[SitemapEntry]
    problem: str | None  #: why it was not read to its end


def read_sitemap(body: bytes, url: str) -> tuple[str, list[SitemapEntry]]:
    """Root element of a sitemap (`urlset`, `sitemapindex`) or feed (`rss`, `feed`); its entries."""
    kind, entries, problem = scan_sitemap(body, url)
    if problem:
        _log.debug("%s in %s", problem, url)
    return kind, entries


def scan_sitemap(body: bytes, url: str) -> SitemapFile:
    """What a file fetched from `url` holds, up to its first XML error or to a limit.

    A parser only guesses what follows an error.
    """
    from lxml.etree import LxmlError, iterparse

    if body[:2] == b"\x1f\x8b":
        body = unpack(body, "gzip", MAX_UNPACKED_BYTES).body
    kind, problem = "", None
    entries: list[SitemapEntry] = []
    ended = iterparse(BytesIO(body), resolve_entities=False, no_network=True)
    try:
        for number, (_, element) in enumerate(ended, 1):
            kind = kind or _name(element.getroottree().getroot())
            if _name(element) == _ENTRY_TAGS.get(kind):
                entries += _entry(element, url)
                _free(element)
            if len(entries) == MAX_ENTRIES:
                problem = f"No more than {MAX_ENTRIES:,} entries of a file are read."
            elif number == MAX_ELEMENTS:
                problem = f"No more than {MAX_ELEMENTS:,} elements of a file are read."
            if problem or kind not in _ENTRY_TAGS:
                break
    except LxmlError as error:
        problem = f"XML error: {error}."
    return SitemapFile(kind, entries, problem)


def _free(element: Any) -> None:
    """Free the memory of an element and of all elements before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _entry(element: Any, base: str) -> list[SitemapEntry]:
    """The page that the children of an element name; empty if they name none."""
    named = {"loc": "", "link": "", "guid": ""}
    changed = None
    for child in element:
        name, text = _name(child), (child.text or "").strip()
        if name in ("lastmod", "updated", "pubDate"):
            changed = _time(text)
        elif name in named and not named[name] and _is_address(child, name, text):
            named[name] = text or child.get("href") or ""
    target = named["loc"] or named["link"] or named["guid"]
    try:
        return [SitemapEntry(urls.canonical(target, base=base), changed)] if target else []
    except BadUrl:
        return []


def _is_address(child: Any, name: str, text: str) -> bool:
    """Whether an element holds the address of the page itself."""
    if name == "guid":
        return child.get("isPermaLink") != "false" and text.startswith(("http://", "https://"))
    return bool(child.get("rel", "alternate") == "alternate")


def _name(element: Any) -> str:
    """The tag without its namespace; empty for comments."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _time(text: str) -> Time | None:
    """A time as sitemaps and Atom (ISO 8601) or RSS (as in e-mail) write it; None for others.

    A date without a time is the end of that day: the page may have changed as late as that.
    """
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, OverflowError):
            moment = read(text)
            at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
            return at + DAY - 1 if _DATE.fullmatch(text) else at
    return None
