"""How does an HTTP answer become a visit? One way, for archives, adapters and the live engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING

from recrawl.page import parse
from recrawl.page.decode import unpack
from recrawl.page.rows import header_micros, of_content, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from recrawl.model import Time
    from recrawl.page.rows import Row

NO_ANSWER = 0  #: status of a fetch that got none (or not the whole): refused, timed out, cut short
NOT_MODIFIED = 304
MOST_BYTES = 10_000_000  #: of a body, unpacked; a larger one is not looked at
MOST_LINKS = 10_000  #: of a page that are kept
_LONGEST_ETAG = 1024
_AHEAD = 86_400_000_000  # microseconds that a server's clock may be ahead of ours


@dataclass(frozen=True, slots=True)
class Response:
    """What one fetch brought."""

    url: str  #: of a web page; `rows` raises `BadUrl` for any other
    at: Time
    status: int = NO_ANSWER
    headers: Mapping[str, str] = field(default_factory=dict)  #: names in lower case
    body: bytes = b""
    seconds: float | None = None


def rows(responses: Iterable[Response]) -> pa.Table:
    """The visits they are.

    >>> rows([Response("https://example.org/", 1.7e9, 200, {}, b"<p>Hello")])["text"][0].as_py()
    'Hello'
    """
    return table(
        [
            {"url": r.url, "at": (at := round(r.at * 1e6)), "seconds": r.seconds}
            | shown(r.url, at, r.status, r.headers, r.body)
            for r in responses
        ]
    )


def shown(
    url: str,
    at: int | None,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    limit: int = MOST_BYTES,
) -> Row:
    """What an answer at a time (in microseconds) shows of its page.

    The body of an error or a redirect is not the page's. Nor is one that is cut short or unpacks to
    more than `limit` bytes: such a visit failed.
    """
    if status == NOT_MODIFIED:
        return {"status": status} | validators(at, headers)
    if not 200 <= status < 300:
        return {"status": status}
    encoding = headers.get("content-encoding")
    unpacked = unpack(body, encoding, limit)
    if unpacked.truncated and not unpacked.opaque:
        return {"status": NO_ANSWER}
    found = parse(
        unpacked.body,
        url=url,
        content_type=headers.get("content-type"),
        content_encoding=encoding if unpacked.opaque else None,
        limit=limit,
    )
    kept = {"links": found.links[:MOST_LINKS], "nofollow": found.nofollow[:MOST_LINKS]}
    return {"status": status} | validators(at, headers) | of_content(found) | kept


def validators(at: int | None, headers: Mapping[str, str]) -> Row:
    """What to send when asking again: only what we may send on, and what can be true."""
    told: Row = {}
    etag = headers.get("etag")
    if etag and len(etag) <= _LONGEST_ETAG and etag.isascii() and etag.isprintable():
        told["etag"] = etag
    modified = header_micros(headers.get("last-modified"))
    if modified is not None and modified >= 0 and (at is None or modified <= at + _AHEAD):
        told["last_modified"] = modified
    return told


def conditional(etag: str | None, modified: Time | None) -> dict[str, str]:
    """The headers that ask for a page only if it is not the copy that came with these."""
    sent = {} if etag is None else {"If-None-Match": etag}
    return (
        sent
        if modified is None
        else sent | {"If-Modified-Since": formatdate(modified, usegmt=True)}
    )
