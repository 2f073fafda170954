"""Which pages does a sitemap or a feed name, and when does it say that they changed?"""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from recrawl import urls
from recrawl.errors import BadUrl
from recrawl.model import DAY
from recrawl.page.decode import unpack

if TYPE_CHECKING:
    from recrawl.model import Time

MOST_ENTRIES = 50_000  #: of one file, as sitemaps may have
MOST_ELEMENTS = 500_000  #: of one file that are looked at
MOST_BYTES = 50_000_000  #: of one file, unpacked
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
_ENTRIES = {"urlset": "url", "sitemapindex": "sitemap", "rss": "item", "feed": "entry"}
_log = logging.getLogger(__name__)


class Entry(NamedTuple):
    """A page that a site names, and when it says that it changed."""

    url: str
    changed: Time | None


def entries(body: bytes, url: str) -> tuple[str, list[Entry]]:
    """What a sitemap (`urlset`, `sitemapindex`) or a feed (`rss`, `feed`) names, and which it is.

    It is read up to the first error: what a parser guesses after one may never have been meant.
    What is none of them names nothing.
    """
    from lxml.etree import LxmlError, iterparse

    if body[:2] == b"\x1f\x8b":
        body = unpack(body, "gzip", MOST_BYTES).body
    kind = ""
    found: list[Entry] = []
    ended = iterparse(BytesIO(body), resolve_entities=False, no_network=True)
    try:
        for _, element in islice(ended, MOST_ELEMENTS):
            kind = kind or _name(element.getroottree().getroot())
            if _name(element) == _ENTRIES.get(kind):
                found += _entry(element, url)
                _free(element)
            if len(found) == MOST_ENTRIES or kind not in _ENTRIES:
                break
    except LxmlError as error:
        _log.debug("%s ends as XML: %s", url, error)
    return kind, found


def _free(element: Any) -> None:
    """Let go of an element and of all that came before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _entry(element: Any, base: str) -> list[Entry]:
    """The page that an element names by its children, if it does."""
    named = {"loc": "", "link": "", "guid": ""}
    changed = None
    for child in element:
        name, text = _name(child), (child.text or "").strip()
        if name in ("lastmod", "updated", "pubDate"):
            changed = _moment(text)
        elif name in named and not named[name] and _is_address(child, name, text):
            named[name] = text or child.get("href") or ""
    target = named["loc"] or named["link"] or named["guid"]
    try:
        return [Entry(urls.canonical(target, base=base), changed)] if target else []
    except BadUrl:
        return []


def _is_address(child: Any, name: str, text: str) -> bool:
    """Whether it is the address of the page itself."""
    if name == "guid":
        return child.get("isPermaLink") != "false" and text.startswith(("http://", "https://"))
    return bool(child.get("rel", "alternate") == "alternate")


def _name(element: Any) -> str:
    """A tag without its namespace; comments have none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _moment(text: str) -> Time | None:
    """A time as sitemaps and Atom (ISO 8601) or RSS (as in e-mail) write it.

    A mere date is the end of that day: the page may have changed as late as that.
    """
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, OverflowError):
            moment = read(text)
            at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
            return at + DAY - 1 if _DATE.fullmatch(text) else at
    return None
