"""The `Source` that a reader is given: checks and counts the records of one file."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, cast

from recrawl.errors import BadInput
from recrawl.ingest.batches import concatenated
from recrawl.ingest.file_stream import CutShort
from recrawl.ingest.validate import validated
from recrawl.urls import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.ingest.file_stream import PeekableStream
    from recrawl.model import Time
    from recrawl.protocols import Reader

_MAX_EXAMPLES = 3
_MAX_CHARACTERS = 1000  # of a rejected record that are written


class FileSource:
    """The `Source` of one file: counts its records, and writes the rejected ones to `rejects`."""

    def __init__(self, filename: str, now: Time, rejects: IO[str] | None) -> None:
        self.filename = filename
        self.now = now
        self.rows = 0  #: made by the reader
        self.rejected = 0  #: by the reader or by the validation
        self.problem: str | None = None  #: why the file was not read to its end
        self.examples: list[str] = []  #: the first few rejected records, for people
        self._unread = 0  # rejected by the reader, which made no row of them
        self._rejects = rejects

    @property
    def records(self) -> int:
        return self.rows + self._unread

    def reject(self, where: str, reason: str, record: str | bytes = "") -> None:
        self._unread += 1
        self._write_reject(where, reason, record)

    def tables(self, reader: Reader | None, stream: PeekableStream) -> Iterator[pa.Table]:
        """The valid visits, up to the end of what can be read."""
        try:
            if reader is None or not stream.peek(1):
                stream.read(1)  # empty, or cut short before its first byte
                return
            for table in concatenated(reader.read(cast("IO[bytes]", stream), self)):
                visits, reasons = validated(table, self.now)
                for row, reason in reasons.items():
                    where = f"record {self.rows + row + 1}"
                    self._write_reject(where, reason, table["url"][row].as_py())
                self.rows += len(table)
                yield visits
        except CutShort as cut:
            self._stop("end of file", str(cut))
        except BadInput as error:
            self._stop("whole file", str(error))

    def _stop(self, where: str, problem: str) -> None:
        self.problem = problem
        self.reject(where, problem)

    def _write_reject(self, where: str, reason: str, record: str | bytes) -> None:
        self.rejected += 1
        reason = without_credentials(reason)
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(f"{self.filename}, {where}: {reason}")
        if self._rejects is None:
            return
        text = record.decode("utf-8", "replace") if isinstance(record, bytes) else record
        text = without_credentials(text)[:_MAX_CHARACTERS]
        line = {"file": self.filename, "where": where, "reason": reason, "record": text}
        self._rejects.write(json.dumps(line) + "\n")
