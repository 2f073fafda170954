"""Writes requests and responses to a web archive (WARC); unchanged ones are revisit records."""

from __future__ import annotations

import hashlib
from base64 import b32encode
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from importlib.metadata import version
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter
from xxhash import xxh3_64_intdigest

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.fetch.result import FetchResult

MAX_FILE_BYTES = 1_000_000_000  #: then the next file starts
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Archive:
    """WARC files `recrawl-00000.warc.gz`, … in one folder; each record is one gzip member."""

    def __init__(
        self, folder: Path, contact: str | None, *, max_file_bytes: int = MAX_FILE_BYTES
    ) -> None:
        self._folder = folder
        self._contact = contact
        self._max_file_bytes = max_file_bytes
        self._file: IO[bytes] | None = None
        self._writer: Any = None
        # By hash of the URL: hash and date of the payload written last.
        self._last: dict[int, tuple[int, str]] = {}

    def add(self, result: FetchResult) -> None:
        """Write one response and its request; a result without response has no record."""
        if result.problem is None:
            self.open(result.at)
            self._writer.write_request_response_pair(self._request(result), self._record(result))

    def flush(self) -> None:
        """Hand all records to the operating system."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _request(self, result: FetchResult) -> Any:
        parts = urlsplit(result.url)
        target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        line = StatusAndHeaders(
            f"GET {target} HTTP/1.1", list(result.sent.items()), is_http_request=True
        )
        return self._writer.create_warc_record(result.url, "request", http_headers=line)

    def _record(self, result: FetchResult) -> Any:
        date = _date(result.at)
        page = xxh3_64_intdigest(result.url.encode())
        headers = {"WARC-Date": date}
        if result.status == HTTPStatus.NOT_MODIFIED:
            headers["WARC-Profile"] = _NOT_MODIFIED
            if before := self._last.get(page):
                headers |= {
                    "WARC-Refers-To-Target-URI": result.url,
                    "WARC-Refers-To-Date": before[1],
                }
            return self._writer.create_warc_record(
                result.url, "revisit", http_headers=_block(result), warc_headers_dict=headers
            )
        payload = xxh3_64_intdigest(result.body)
        before = self._last.get(page)
        if before and before[0] == payload and result.status == HTTPStatus.OK:
            digest = "sha1:" + b32encode(hashlib.sha1(result.body).digest()).decode()  # noqa: S324
            return self._writer.create_revisit_record(
                result.url, digest, result.url, before[1], _block(result), headers
            )
        self._last[page] = (payload, date)
        return self._writer.create_warc_record(
            result.url,
            "response",
            payload=BytesIO(result.body),
            length=len(result.body),
            http_headers=_block(result),
            warc_headers_dict=headers,
        )

    def open(self, at: float) -> None:
        """Open the next file, unless the open one has room."""
        if self._file is not None and self._file.tell() < self._max_file_bytes:
            return
        self.close()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file, name = self._next()
        except OSError as error:
            raise BadInput(
                f"The archive must be a folder that can be written to. Got {self._folder}: {error}."
            ) from error
        self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
        about = {
            "software": f"recrawl/{version('recrawl')}",
            "format": "WARC File Format 1.1",
            "robots": "obey",
            "operator": self._contact,
        }
        info = self._writer.create_warcinfo_record(name, about)
        info.rec_headers.replace_header("WARC-Date", _date(at))
        self._writer.write_record(info)

    def _next(self) -> tuple[IO[bytes], str]:
        taken = [int(p.name[8:13]) for p in self._folder.glob("recrawl-[0-9]*.warc.gz")]
        name = f"recrawl-{max(taken, default=-1) + 1:05d}.warc.gz"
        return (self._folder / name).open("xb"), name


def _date(at: float) -> str:
    """A WARC date to the microsecond, so that ingesting the file gives the same visits."""
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=round(at * 1e6))
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _block(result: FetchResult) -> StatusAndHeaders:
    """Status line and headers, without Transfer-Encoding, which is undone in the body."""
    line = f"{result.status} {_PHRASES.get(result.status, 'Unknown')}"
    pairs = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, values in result.headers.items()
        for value in values
    ]
    return StatusAndHeaders(line, pairs, protocol="HTTP/1.1")
