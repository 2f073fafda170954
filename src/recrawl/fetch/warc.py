"""Keep what came as a web archive: responses whole, unchanged ones as revisits."""

from __future__ import annotations

import hashlib
from base64 import b32encode
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from importlib.metadata import version
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter
from xxhash import xxh3_64_intdigest

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.fetch.answer import Answer

MOST_BYTES = 1_000_000_000  #: of a file, after which the next one begins
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Archive:
    """WARC files `NAME-00000.warc.gz`, … in one folder; a record is a gzip member of its own."""

    def __init__(self, folder: Path, contact: str | None, *, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._contact = contact
        self._most = most_bytes
        self._file: IO[bytes] | None = None
        self._writer: Any = None
        # By hash of the URL: hash of the payload last written, and when that was.
        self._last: dict[int, tuple[int, str]] = {}

    def add(self, answer: Answer) -> None:
        """Write what one page answered; the answers that did not come have no record."""
        if answer.problem is None:
            self.open(answer.at)
            self._writer.write_record(self._record(answer))

    def flush(self) -> None:
        """Hand all that was added to the system."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _record(self, answer: Answer) -> Any:
        date = _date(answer.at)
        page = xxh3_64_intdigest(answer.url.encode())
        headers = {"WARC-Date": date}
        if answer.status == HTTPStatus.NOT_MODIFIED:
            headers["WARC-Profile"] = _NOT_MODIFIED
            if before := self._last.get(page):
                headers |= {
                    "WARC-Refers-To-Target-URI": answer.url,
                    "WARC-Refers-To-Date": before[1],
                }
            return self._writer.create_warc_record(
                answer.url, "revisit", http_headers=_block(answer), warc_headers_dict=headers
            )
        payload = xxh3_64_intdigest(answer.body)
        before = self._last.get(page)
        if before and before[0] == payload and answer.status == HTTPStatus.OK:
            digest = "sha1:" + b32encode(hashlib.sha1(answer.body).digest()).decode()  # noqa: S324
            return self._writer.create_revisit_record(
                answer.url, digest, answer.url, before[1], _block(answer), headers
            )
        self._last[page] = (payload, date)
        return self._writer.create_warc_record(
            answer.url,
            "response",
            payload=BytesIO(answer.body),
            length=len(answer.body),
            http_headers=_block(answer),
            warc_headers_dict=headers,
        )

    def open(self, at: float) -> None:
        """Make sure that a file is open and has room."""
        if self._file is not None and self._file.tell() < self._most:
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
    """To the microsecond, so that ingesting the file gives the visits that were recorded."""
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=round(at * 1e6))
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _block(answer: Answer) -> StatusAndHeaders:
    """Status and headers; those of the transfer are gone, as is the transfer's dress."""
    line = f"{answer.status} {_PHRASES.get(answer.status, 'Unknown')}"
    pairs = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, values in answer.headers.items()
        for value in values
    ]
    return StatusAndHeaders(line, pairs, protocol="HTTP/1.1")
