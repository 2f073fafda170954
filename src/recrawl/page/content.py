"""The bytes of a page → its text, links, canonical URL and digest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from xxhash import xxh3_64_intdigest

from recrawl.page import decode
from recrawl.page.html import MAX_LINKS_READ, VisiblePage, collapse_spaces, read_html
from recrawl.urls import canonical


@dataclass(frozen=True, slots=True)
class PageContent:
    """What one fetched body holds. Equal digests of the same kind mean the same content."""

    kind: decode.Kind
    charset: str | None  #: None where there are no characters
    title: str
    text: str  #: the visible text, with single spaces
    canonical: str | None  #: the URL that `<link rel=canonical>` in the head of the page names
    links: list[str] = field(repr=False)  #: canonical, in document order, each once
    nofollow: list[bool] = field(repr=False)  #: for each link: every occurrence has nofollow
    bytes: int  #: of the body without its Content-Encoding
    digest: int
    digest_of: Literal["text", "bytes"]
    truncated: bool  #: the body or the list of links is longer
    problem: str | None  #: why the result is partial


def parse(
    body: bytes,
    *,
    url: str,
    content_type: str | None = None,
    content_encoding: str | None = None,
    max_bytes: int = 10_000_000,
) -> PageContent:
    """What a body fetched from `url` holds, at most `max_bytes` of it.

    No body raises an error. A `url` that is not one of a web page raises `BadUrl`.

    >>> parse(b"<title>Hi</title><a href=b>you</a>", url="http://a.org/").links
    ['http://a.org/b']
    """
    unpacked = decode.unpack(body, content_encoding, max_bytes)
    is_opaque = unpacked.is_encoded and unpacked.body
    kind = "binary" if is_opaque else decode.kind_of(unpacked.body, content_type)
    charset, page = None, VisiblePage()
    if kind in ("html", "text"):
        charset = decode.charset_of(unpacked.body, content_type)
        utf8 = decode.to_utf8(unpacked.body, charset)
        page = read_html(utf8, canonical(url)) if kind == "html" else _plain_text(utf8)
    has_more_links = len(page.links) > MAX_LINKS_READ
    # An empty page has a digest of its text, to be compared with its earlier text.
    digested = unpacked.body if kind == "binary" else page.text.encode()
    return PageContent(
        kind=kind,
        charset=charset,
        title=page.title,
        text=page.text,
        canonical=page.canonical,
        links=page.links[:MAX_LINKS_READ],
        nofollow=page.nofollow[:MAX_LINKS_READ],
        bytes=len(unpacked.body),
        digest=xxh3_64_intdigest(digested),
        digest_of="bytes" if kind == "binary" else "text",
        truncated=unpacked.truncated or has_more_links,
        problem=unpacked.problem or (f"over {MAX_LINKS_READ} links" if has_more_links else None),
    )


def _plain_text(utf8: bytes) -> VisiblePage:
    return VisiblePage(text=collapse_spaces(utf8.decode("utf-8", "replace")))
