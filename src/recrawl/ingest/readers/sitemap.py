"""Sitemaps and feeds (RSS, Atom): the pages that a site names."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, ClassVar

from recrawl.errors import BadInput, extra
from recrawl.ingest.batches import tables
from recrawl.page.sitemaps import MAX_UNPACKED_BYTES, scan_sitemap
from recrawl.urls import host

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

_BEFORE_ROOT = re.compile(rb"(?:\s++|<\?[^>]*+>|<!--(?:[^-]|-(?!->))*+-->|<!DOCTYPE[^>\[]*+>)*+")
_ROOT = re.compile(rb"<(?:\w+:)?(?:urlset|sitemapindex|rss|feed)[\s>]")
_NO_BASE = "http://no-base.invalid/"  # the address of the file is not known


class Sitemap:
    """Sitemaps and feeds: pages that a site names, not visited. Their dates are left out."""

    name: ClassVar[str] = "sitemap"

    def example(self) -> bytes:
        return (
            b'<?xml version="1.0" encoding="UTF-8"?>\n'
            b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            b"<url><loc>https://example.org/</loc><lastmod>2026-01-31</lastmod></url></urlset>\n"
        )

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        before = _BEFORE_ROOT.match(head.removeprefix(b"\xef\xbb\xbf"))
        return bool(before and _ROOT.match(before.string, before.end()))

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        with extra("crawl", "Reading sitemaps and feeds"):
            import lxml  # noqa: F401
        yield from tables(_rows(_whole(stream, source), source))


def _whole(stream: IO[bytes], source: Source) -> bytes:
    body = bytearray()
    while piece := stream.read(1 << 20):
        body += piece
        if len(body) > MAX_UNPACKED_BYTES:
            raise BadInput(
                f"The sitemap {source.filename!r} is longer than {MAX_UNPACKED_BYTES:,} bytes, the "
                "limit of the sitemap protocol. Divide it."
            )
    return bytes(body)


def _rows(body: bytes, source: Source) -> Iterator[Row]:
    found = scan_sitemap(body, _NO_BASE)
    if found.kind == "sitemapindex":
        listed = ", ".join(entry.url for entry in found.entries[:5])
        raise BadInput(
            f"The file {source.filename!r} names {len(found.entries):,} sitemaps and no page. "
            f"Ingest those: {listed}."
        )
    for number, entry in enumerate(found.entries, 1):
        if host(entry.url) == host(_NO_BASE):
            source.reject(f"entry {number}", "The address is relative to an unknown one.")
        else:
            yield {"url": entry.url}
    if found.problem:
        source.reject("end of file", found.problem)
