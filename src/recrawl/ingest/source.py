"""What happens to the records of one file?"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, cast

from recrawl.errors import BadInput
from recrawl.ingest.batches import concatenated
from recrawl.ingest.file_stream import CutShort
from recrawl.ingest.validate import checked

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.ingest.file_stream import Tap
    from recrawl.model import Time
    from recrawl.protocols import Reader

_EXAMPLES = 3
_CLIP = 1000  # characters of a rejected record that are kept


class FileSource:
    """The `Source` of one file: counts its records, and writes down what was rejected."""

    def __init__(self, filename: str, now: Time, rejects: IO[str] | None) -> None:
        self.filename = filename
        self.now = now
        self.rows = 0  #: that the reader made
        self.rejected = 0  #: by the reader or by the check
        self.problem: str | None = None  #: what kept us from reading the file to its end
        self._unread = 0  # rejected by the reader: no row was made
        self._rejects = rejects
        self.examples: list[str] = []  #: the first few rejects, for people

    @property
    def records(self) -> int:
        return self.rows + self._unread

    def reject(self, where: str, reason: str, record: str | bytes = "") -> None:
        self._unread += 1
        self._write_down(where, reason, record)

    def tables(self, reader: Reader | None, stream: Tap) -> Iterator[pa.Table]:
        """The visits to keep, to the end of what can be read."""
        try:
            if reader is None or not stream.peek(1):
                stream.read(1)  # empty, or cut before its first byte
                return
            for table in concatenated(reader.read(cast("IO[bytes]", stream), self)):
                kept, bad = checked(table, self.now)
                for row, reason in bad.items():
                    where = f"record {self.rows + row + 1}"
                    self._write_down(where, reason, table["url"][row].as_py())
                self.rows += len(table)
                yield kept
        except CutShort as cut:
            self._stop("end of file", str(cut))
        except BadInput as error:
            self._stop("whole file", str(error))

    def _stop(self, where: str, problem: str) -> None:
        self.problem = problem
        self.reject(where, problem)

    def _write_down(self, where: str, reason: str, record: str | bytes) -> None:
        self.rejected += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(f"{self.filename}, {where}: {reason}")
        if self._rejects is None:
            return
        text = record[: 4 * _CLIP]
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        line = {"file": self.filename, "where": where, "reason": reason, "record": text[:_CLIP]}
        self._rejects.write(json.dumps(line) + "\n")
