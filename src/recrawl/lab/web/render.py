"""Writes a version of a page as HTML; equal contents give equal bytes, different ones different."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_TITLE_LENGTH = 80


def page(text: str, links: list[str], edition: str) -> bytes:
    """A page with this text and these links.

    Its last line names the edition, so that every change in the trace changes the text of the page,
    even one of a link or of spaces only.
    """
    lines = escape(text).splitlines()
    paragraphs = "\n".join([f"<p>{line}</p>" for line in lines])
    title = escape(text.strip().partition("\n")[0][:_TITLE_LENGTH])
    items = "\n".join(f'<li><a href="{target}">{target}</a></li>' for target in map(escape, links))
    return (
        '<!doctype html>\n<html>\n<head><meta charset="utf-8">'
        f"<title>{title}</title></head>\n<body>\n{paragraphs}\n"
        f"<ul>\n{items}\n</ul>\n<p>Edition {edition}</p>\n</body>\n</html>\n"
    ).encode()


def note(title: str, sentence: str) -> bytes:
    """An error page of the server."""
    return (
        f"<!doctype html>\n<title>{escape(title)}</title>\n<p>{escape(sentence)}</p>\n"
    ).encode()


def sitemap(entries: Iterable[tuple[str, str]]) -> bytes:
    """A sitemap of URLs and times of change."""
    rows = "".join(
        f"<url><loc>{escape(url)}</loc><lastmod>{changed}</lastmod></url>\n"
        for url, changed in entries
    )
    return f"{_XML}<urlset {_NAMESPACE}>\n{rows}</urlset>\n".encode()


def sitemap_index(urls: Iterable[str]) -> bytes:
    """A sitemap of sitemaps."""
    rows = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>\n" for url in urls)
    return f"{_XML}<sitemapindex {_NAMESPACE}>\n{rows}</sitemapindex>\n".encode()


_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
