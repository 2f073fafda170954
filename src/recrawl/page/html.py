"""What does a reader of this page see, and where can they go?"""

from __future__ import annotations

from typing import NamedTuple, cast

from recrawl.page.html_scanner import scan, squeeze
from recrawl.urls import resolved

__all__ = ["MAX_LINKS", "Seen", "read", "squeeze"]

MAX_LINKS = 20_000

#: Some links of a page are there twice or lead nowhere. What is far beyond is not looked at.
_MAX_HREFS = 2 * MAX_LINKS


class Seen(NamedTuple):
    """The visible part of a page."""

    title: str
    text: str
    canonical: str | None  #: of its `<link rel=canonical>`, if that is a web page
    links: list[str]
    nofollow: list[bool]


def read(body: bytes, url: str) -> Seen:
    """Title, visible text, canonical URL and outlinks of a UTF-8 page."""
    page = scan(body, _MAX_HREFS)
    base = (resolved([page.base], url)[0] if page.base else None) or url
    links = _links(page.hrefs, page.nofollow, base)
    links.pop(url, None)
    named = page.canonical.strip()
    canonical = resolved([named], url)[0] if named else None
    return Seen(page.title, page.text, canonical, list(links), list(links.values()))


def _links(hrefs: list[str], nofollow: list[bool], base: str) -> dict[str, bool]:
    """Outlinks in document order; True where every occurrence says nofollow."""
    targets = resolved(hrefs, base)
    found = dict.fromkeys(targets, any(nofollow))
    if any(nofollow):
        for target, says in zip(targets, nofollow, strict=True):
            found[target] = found[target] and says
    found.pop(None, None)
    return cast("dict[str, bool]", found)
