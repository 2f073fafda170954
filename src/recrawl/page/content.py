"""What does this page say? One pass over its bytes, whatever they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from xxhash import xxh3_64_intdigest

from recrawl.page import decode, html
from recrawl.page.fingerprints import shingles, simhash
from recrawl.urls import canonical

if TYPE_CHECKING:
    from recrawl.model import KeyArray


@dataclass(frozen=True, slots=True)
class Content:
    """What one fetched body holds. Equal digests of the same kind mean the same content."""

    kind: decode.Kind
    charset: str | None  #: None where there are no characters
    title: str
    text: str  #: what a reader sees, with single spaces
    canonical: str | None  #: the URL that `<link rel=canonical>` in the head of the page names
    links: list[str] = field(repr=False)  #: canonical, in document order, each once
    nofollow: list[bool] = field(repr=False)  #: of each link: every occurrence says so
    bytes: int  #: of the body without its Content-Encoding
    digest: int
    digest_of: Literal["text", "bytes"]
    truncated: bool  #: there was more
    problem: str | None  #: why the result is partial

    def simhash(self) -> int:
        """See `recrawl.page.simhash`."""
        return simhash(self.text)

    def shingles(self) -> KeyArray:
        """See `recrawl.page.shingles`."""
        return shingles(self.text)


def parse(
    body: bytes,
    *,
    url: str,
    content_type: str | None = None,
    content_encoding: str | None = None,
    limit: int = 10_000_000,
) -> Content:
    """Text, links and digest of a body fetched from `url`: never an error, whatever it holds.

    `url` itself must be one: else `BadUrl`.

    >>> parse(b"<title>Hi</title><a href=b>you</a>", url="http://a.org/").links
    ['http://a.org/b']
    """
    found = decode.unpack(body, content_encoding, limit)
    kind = "binary" if found.opaque and found.body else decode.kind_of(found.body, content_type)
    if kind in ("binary", "empty"):
        return _unread(kind, found)
    charset = decode.charset_of(found.body, content_type)
    utf8 = decode.to_utf8(found.body, charset)
    seen = html.read(utf8, canonical(url)) if kind == "html" else _plain(utf8)
    crowded = len(seen.links) > html.MAX_LINKS
    problem = found.problem or (f"over {html.MAX_LINKS} links" if crowded else None)
    return Content(
        kind=kind,
        charset=charset,
        title=seen.title,
        text=seen.text,
        canonical=seen.canonical,
        links=seen.links[: html.MAX_LINKS],
        nofollow=seen.nofollow[: html.MAX_LINKS],
        bytes=len(found.body),
        digest=xxh3_64_intdigest(seen.text.encode()),
        digest_of="text",
        truncated=found.truncated or crowded,
        problem=problem,
    )


def _unread(kind: decode.Kind, found: decode.Unpacked) -> Content:
    # An emptied page is compared with its earlier text, so it too has a digest of its text.
    digested = found.body if kind == "binary" else b""
    return Content(
        kind=kind,
        charset=None,
        title="",
        text="",
        canonical=None,
        links=[],
        nofollow=[],
        bytes=len(found.body),
        digest=xxh3_64_intdigest(digested),
        digest_of="bytes" if kind == "binary" else "text",
        truncated=found.truncated,
        problem=found.problem,
    )


def _plain(utf8: bytes) -> html.Seen:
    return html.Seen("", html.squeeze(utf8.decode("utf-8", "replace")), None, [], [])
