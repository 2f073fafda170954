"""An HTTP response → a visit. The same way for archives, adapters and the live engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING, NamedTuple

from recrawl import urls
from recrawl.page import parse
from recrawl.page.decode import unpack
from recrawl.page.times import header_micros
from recrawl.page.visit_rows import visit_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from recrawl.model import Time
    from recrawl.page import PageContent
    from recrawl.page.visit_rows import Row

NO_ANSWER = 0  #: status of a fetch without a whole answer: refused, timed out, cut short
NOT_MODIFIED = 304
ROBOTS_FORBIDS = "robots.txt forbids it"  #: problems of visits without a request
ROBOTS_UNREACHABLE = "robots.txt cannot be read"
NOT_PUBLIC = "the address is not public"
MAX_BODY_BYTES = 10_000_000  #: unpacked; a larger body is not read
MAX_LINKS_KEPT = 10_000  #: of a page
MAX_ETAG_CHARACTERS = 1024  #: a longer one is not kept
_MAX_CLOCK_AHEAD_MICROS = 86_400_000_000  # a server's clock may be a day ahead of ours


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response, or the failure to get one."""

    url: str  #: of a web page; else `BadUrl` is raised when it is read
    at: Time
    status: int = NO_ANSWER
    headers: Mapping[str, str] = field(default_factory=dict)  #: names in lower case
    body: bytes = b""  #: in its Content-Encoding
    seconds: float | None = None
    skipped: bool = False  #: not requested: robots.txt forbids it, or its host cannot be asked
    problem: str | None = None  #: why there is no answer, or was no request


class Visit(NamedTuple):
    """What a response says of its page."""

    row: Row
    canonical: str | None  #: another URL of the same site that the page calls its canonical one


def to_visits(responses: Iterable[Response]) -> pa.Table:
    """The responses as a table of visits.

    >>> to_visits([Response("https://a.org/", 1.7e9, 200, {}, b"<p>Hello")])["text"][0].as_py()
    'Hello'
    """
    return visit_table([read_response(response).row for response in responses])


def read_response(response: Response, *, max_body_bytes: int = MAX_BODY_BYTES) -> Visit:
    """The visit that a response is.

    The body of an error or a redirect is not the page's. A body that is cut short, or unpacks to
    more than `max_body_bytes`, makes a failed visit.
    """
    at, status = round(response.at * 1e6), response.status
    row: Row = {"url": response.url, "at": at, "seconds": response.seconds, "status": status}
    if response.skipped:
        row["skipped"] = True
    if response.problem:
        row["problem"] = response.problem
    if status == NOT_MODIFIED:
        return Visit(row | validators(at, response.headers), None)
    if not 200 <= status < 300:
        return Visit(row, None)
    content = _content(response, max_body_bytes)
    if content is None:
        return Visit(row | {"status": NO_ANSWER, "problem": "not whole"}, None)
    row |= validators(at, response.headers) | _content_columns(content)
    return Visit(row, _other_url(content.canonical, response.url))


def _content(response: Response, max_body_bytes: int) -> PageContent | None:
    """What the body holds; None if it is not whole."""
    encoding = response.headers.get("content-encoding")
    unpacked = unpack(response.body, encoding, max_body_bytes)
    if unpacked.truncated and not unpacked.is_encoded:
        return None
    return parse(
        unpacked.body,
        url=response.url,
        content_type=response.headers.get("content-type"),
        content_encoding=encoding if unpacked.is_encoded else None,
        max_bytes=max_body_bytes,
    )


def _content_columns(content: PageContent) -> Row:
    """The columns that the body fills. No simhash: it is slow, and can be made from the text."""
    return {
        "digest": content.digest,
        "digest_of": content.digest_of,
        "title": content.title,
        "text": content.text if content.digest_of == "text" else None,
        "links": content.links[:MAX_LINKS_KEPT],
        "nofollow": content.nofollow[:MAX_LINKS_KEPT],
        "bytes": content.bytes,
    }


def _other_url(canonical: str | None, url: str) -> str | None:
    """The canonical URL, if it is another one of the same site: others may name what they like."""
    if canonical is None or canonical == url:
        return None
    is_same_site = urls.site(urls.host(canonical)) == urls.site(urls.host(url))
    return canonical if is_same_site else None


def validators(at: int, headers: Mapping[str, str]) -> Row:
    """The ETag and Last-Modified to send with the next request for the page.

    An ETag that cannot be sent back is left out, and a Last-Modified that lies after `at`
    (microseconds since 1970).
    """
    row: Row = {}
    etag = headers.get("etag")
    if etag and len(etag) <= MAX_ETAG_CHARACTERS and etag.isascii() and etag.isprintable():
        row["etag"] = etag
    modified = header_micros(headers.get("last-modified"))
    if modified is not None and 0 <= modified <= at + _MAX_CLOCK_AHEAD_MICROS:
        row["last_modified"] = modified
    return row


def conditional(etag: str | None, modified: Time | None) -> dict[str, str]:
    """Request headers that ask for a page only if it differs from the copy they came with."""
    headers = {}
    if etag is not None:
        headers["If-None-Match"] = etag
    if modified is not None:
        headers["If-Modified-Since"] = formatdate(modified, usegmt=True)
    return headers
