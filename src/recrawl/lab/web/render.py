"""What does a version look like as HTML? Equal for equal content, different for different."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_TITLE = 80  # characters


def page(text: str, links: list[str], edition: str) -> bytes:
    """A page that says this and links there.

    Its last line names the edition, so that what the trace calls a change is one for whoever reads
    the text: be it of a link only, or of spaces, which readers of HTML do not tell apart.
    """
    lines = escape(text).splitlines()
    said = "\n".join([f"<p>{line}</p>" for line in lines])
    title = escape(text.strip().partition("\n")[0][:_TITLE])
    linked = "\n".join(f'<li><a href="{target}">{target}</a></li>' for target in map(escape, links))
    return (
        '<!doctype html>\n<html>\n<head><meta charset="utf-8">'
        f"<title>{title}</title></head>\n<body>\n{said}\n"
        f"<ul>\n{linked}\n</ul>\n<p>Edition {edition}</p>\n</body>\n</html>\n"
    ).encode()


def note(title: str, sentence: str) -> bytes:
    """A page of the server's own, about what went wrong."""
    return (
        f"<!doctype html>\n<title>{escape(title)}</title>\n<p>{escape(sentence)}</p>\n"
    ).encode()


def sitemap(entries: Iterable[tuple[str, str]]) -> bytes:
    """A sitemap of addresses and times of change."""
    rows = "".join(
        f"<url><loc>{escape(url)}</loc><lastmod>{changed}</lastmod></url>\n"
        for url, changed in entries
    )
    return f"{_XML}<urlset {_SPACE}>\n{rows}</urlset>\n".encode()


def sitemap_index(urls: Iterable[str]) -> bytes:
    """A sitemap of sitemaps."""
    rows = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>\n" for url in urls)
    return f"{_XML}<sitemapindex {_SPACE}>\n{rows}</sitemapindex>\n".encode()


_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
