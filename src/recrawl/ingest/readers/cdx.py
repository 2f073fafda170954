"""Indexes of web archives: CDX with its line of field letters, and CDXJ."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Any, ClassVar

from recrawl.ingest.captures import capture_rows
from recrawl.ingest.lines import LineReader, json_object
from recrawl.ingest.sniff import first_lines, matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

_USUAL_LETTERS = "N b a m s k r M S V g"
_FIELDS = {"b": "timestamp", "a": "url", "m": "mime", "s": "status", "k": "digest"}
_CDXJ = re.compile(r"\S+ \d{14}(?:\d{3})? \{")
_CDX = re.compile(r"\S+ \d{14} \S+ \S+ (?:\d{3}|-) \S+ \S+ \S+ \S+ \S+ \S+\s*$")


class Cdx(LineReader):
    """Indexes of web archives: one line for each capture."""

    name: ClassVar[str] = "cdx"

    def example(self) -> bytes:
        return (
            b" CDX N b a m s k r M S V g\n"
            b"org,example)/ 20260131120000 https://example.org/ text/html 200 "
            b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - - 1043 333 a.warc.gz\n"
        )

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        has_letters = re.match(r" ?CDX( \w)+\s*$", first_lines(head)[0])
        return bool(has_letters) or matches(head, _CDXJ) or matches(head, _CDX)

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        self._letters = _USUAL_LETTERS.split()  # until a line of letters gives another order
        yield from super().read(stream, source)

    def rows(self, line: str) -> list[Row]:
        if line.startswith((" CDX ", "CDX ")):
            self._letters = line.split()[1:]
            return []
        if line.startswith("!"):  # metadata of a CDXJ file
            return []
        return capture_rows(self._fields(line))

    def _fields(self, line: str) -> dict[str, Any]:
        if _CDXJ.match(line):
            _, timestamp, rest = line.split(" ", 2)
            return {**json_object(rest), "timestamp": timestamp}
        values = line.split()
        if len(values) != len(self._letters):
            raise ValueError(f"{len(values)} fields instead of {len(self._letters)}.")
        pairs = zip(self._letters, values, strict=True)
        return {_FIELDS[letter]: value for letter, value in pairs if letter in _FIELDS}
