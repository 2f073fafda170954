"""An HTML page → its title, visible text, canonical URL and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from recrawl.errors import BadUrl
from recrawl.page.html_scanner import collapse_spaces, scan
from recrawl.page.links import first_links
from recrawl.urls import canonical, resolve_links

__all__ = ["MAX_LINKS_READ", "VisiblePage", "collapse_spaces", "read_html"]

MAX_LINKS_READ = 20_000  #: different ones, of a page
_MAX_HREFS = 2 * MAX_LINKS_READ  # some links of a page are there twice or lead nowhere


@dataclass(slots=True)
class VisiblePage:
    """What a reader of a page sees, and where its links lead."""

    title: str = ""
    text: str = ""
    canonical: str | None = None  #: the URL of its `<link rel=canonical>`
    links: list[str] = field(default_factory=list)
    nofollow: list[bool] = field(default_factory=list)  #: for each link


def read_html(body: bytes, url: str) -> VisiblePage:
    """What the UTF-8 page at a canonical URL shows; links are absolute and canonical."""
    page = scan(body, _MAX_HREFS)
    base = _base(page.base, url)
    links = _links(page.hrefs, page.nofollow, base)
    links.pop(url, None)
    named = page.canonical.strip()
    other = resolve_links([named], url)[0] if named else None
    return VisiblePage(page.title, page.text, other, list(links), list(links.values()))


def _base(named: str, url: str) -> str:
    """The URL that links are relative to."""
    try:
        return canonical(named, base=url) if named else url
    except BadUrl:
        return url


def _links(hrefs: list[str], nofollow: list[bool], base: str) -> dict[str, bool]:
    """Link → whether every occurrence has nofollow, in document order."""
    targets = first_links(hrefs, base)
    links = dict.fromkeys(targets, any(nofollow))
    if any(nofollow):
        for target, has_nofollow in zip(targets, nofollow, strict=False):
            links[target] = links[target] and has_nofollow
    links.pop(None, None)
    return cast("dict[str, bool]", links)
