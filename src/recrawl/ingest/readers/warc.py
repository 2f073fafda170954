"""Web archives: fetched pages with their content."""

from __future__ import annotations

import re
import warnings
from typing import IO, TYPE_CHECKING, Any, ClassVar

from recrawl.ingest.batches import tables
from recrawl.ingest.damaged_warc import ResumableStream
from recrawl.ingest.file_stream import CutShort
from recrawl.ingest.foreign_values import is_web
from recrawl.ingest.lines import MALFORMED, reason
from recrawl.page.responses import NOT_MODIFIED, Response, read_response, validators
from recrawl.page.times import micros

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

with warnings.catch_warnings():  # the package warns of its own old parts when imported
    warnings.simplefilter("ignore", DeprecationWarning)
    from fastwarc.warc import ArchiveIterator, WarcRecordType

_MAX_RECORD_BYTES = 16 << 20  # that are read
_TYPES = WarcRecordType.response | WarcRecordType.revisit | WarcRecordType.unknown
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})\b")


class Warc:
    """Web archives (WARC): responses with their content, and revisits."""

    name: ClassVar[str] = "warc"

    def example(self) -> bytes:
        http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Hello"
        return (
            b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://example.org/\r\n"
            b"WARC-Date: 2026-01-31T12:00:00Z\r\nWARC-Record-ID: <urn:uuid:0>\r\n"
            b"Content-Type: application/http; msgtype=response\r\n"
            b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (len(http), http)
        )

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return head.lstrip().startswith(b"WARC/")

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        yield from tables(_rows(ResumableStream(stream), source))


def _rows(stream: ResumableStream, source: Source) -> Iterator[Row]:
    """The visits of all records. After damaged bytes, reading continues at the next record."""
    while stream.has_more():
        start = 0
        try:
            for record in ArchiveIterator(stream, _TYPES, parse_http=False, stream_detect=False):
                start = record.stream_pos
                yield from _visits(record, stream.base + start, source)
        except CutShort:
            raise
        except OSError as error:
            source.reject(f"after byte {stream.base + start}", f"Not a WARC record: {error}.")
        else:
            return
        stream.skip_to_record(after=start)


def _visits(record: Any, place: int, source: Source) -> Iterator[Row]:
    try:
        row = _row(record)
    except MALFORMED as error:
        source.reject(f"byte {place}", reason(error), str(record.headers.to_dict()))
    else:
        if row is not None:
            yield row


def _row(record: Any) -> Row | None:
    """The visit that a record describes; None if it is not of a web page."""
    headers = record.headers
    length = int(headers["Content-Length"])
    if record.record_type == WarcRecordType.unknown:
        return None
    url = headers["WARC-Target-URI"].strip("<>")
    if not is_web(url):
        return None
    at = micros(headers["WARC-Date"])
    if at is None:
        raise ValueError("The WARC-Date is empty.")
    size = min(length, _MAX_RECORD_BYTES)
    block = record.reader.read(size)
    if len(block) < size:
        raise ValueError(f"The record ends after {len(block)} of {length} bytes.")
    status, http, body = _http_parts(block)
    if record.record_type == WarcRecordType.revisit:
        is_not_modified = "server-not-modified" in (headers.get("WARC-Profile") or "")
        status = NOT_MODIFIED if is_not_modified else status or 200
        row: Row = {"url": url, "at": at, "status": status, "reported": False}
        return row | validators(at, http)
    if status is None:
        raise ValueError("The response has no HTTP status line.")
    return read_response(Response(url, at / 1e6, status, http, body)).row


def _http_parts(block: bytes) -> tuple[int | None, dict[str, str], bytes]:
    """Status, headers and body; tolerates the errors of servers and old crawlers."""
    line = _STATUS.match(block)
    if not line:
        return None, {}, block
    blank = _BLANK_LINE.search(block)
    head, body = (block[: blank.start()], block[blank.end() :]) if blank else (block, b"")
    headers: dict[str, str] = {}
    for field in head.decode("latin-1").split("\n")[1:]:
        key, colon, value = field.partition(":")
        if colon:
            headers.setdefault(key.strip().lower(), value.strip())
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = _unchunked(body)
    return int(line[1]), headers, body


def _unchunked(body: bytes) -> bytes:
    """The joined chunks of a chunked body; the body itself if the crawler joined them already."""
    chunks: list[bytes] = []
    place = 0
    while (end := body.find(b"\n", place)) >= 0:
        try:
            size = int(body[place:end].split(b";")[0], 16)
        except ValueError:
            break
        if size <= 0:
            return b"".join(chunks)
        chunks.append(body[end + 1 : end + 1 + size])
        place = end + 1 + size + 2
    return b"".join(chunks) if chunks else body
