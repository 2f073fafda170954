"""Indexes of web archives: CDX with its line of field letters, and CDXJ."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Any, ClassVar

from recrawl.ingest.batches import tables
from recrawl.ingest.foreign_values import foreign_digest, is_web, stamp_micros, status_code
from recrawl.ingest.lines import json_object, lines, parsed
from recrawl.ingest.sniff import first_lines, matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

_USUAL = "N b a m s k r M S V g"
_LETTERS = {"b": "timestamp", "a": "url", "m": "mime", "s": "status", "k": "digest"}
_CDXJ = re.compile(r"\S+ \d{14}(?:\d{3})? \{")
_CDX = re.compile(r"\S+ \d{14} \S+ \S+ (?:\d{3}|-) \S+ \S+ \S+ \S+ \S+ \S+\s*$")


class Cdx:
    """Indexes of web archives: one line a capture."""

    name: ClassVar[str] = "cdx"

    def example(self) -> bytes:
        return (
            b" CDX N b a m s k r M S V g\n"
            b"org,example)/ 20260131120000 https://example.org/ text/html 200 "
            b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - - 1043 333 a.warc.gz\n"
        )

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        titled = re.match(r" ?CDX( \w)+\s*$", first_lines(head)[0])
        return bool(titled) or matches(head, _CDXJ) or matches(head, _CDX)

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        yield from tables(parsed(lines(stream, source), _Lines().rows, source))


class _Lines:
    """The order of the fields may change at every line of letters."""

    def __init__(self) -> None:
        self._order = _USUAL.split()

    def rows(self, line: str) -> list[Row]:
        if line.startswith((" CDX ", "CDX ")):
            self._order = line.split()[1:]
            return []
        if line.startswith("!"):  # what a CDXJ file says of itself
            return []
        return _capture(self._fields(line))

    def _fields(self, line: str) -> dict[str, Any]:
        if _CDXJ.match(line):
            _, timestamp, rest = line.split(" ", 2)
            return {**json_object(rest), "timestamp": timestamp}
        values = line.split()
        if len(values) != len(self._order):
            raise ValueError(f"{len(values)} fields instead of {len(self._order)}.")
        pairs = zip(self._order, values, strict=True)
        return {_LETTERS[letter]: value for letter, value in pairs if letter in _LETTERS}


def _capture(fields: dict[str, Any]) -> list[Row]:
    url, mime = fields["url"], fields.get("mime")
    if not is_web(url):
        return []
    row: Row = {
        "url": url,
        "at": stamp_micros(fields["timestamp"]),
        "status": status_code(fields.get("status")),
    }
    if mime == "warc/revisit":
        row["reported"] = False
    if (digest := fields.get("digest")) not in (None, "", "-"):
        row |= {"digest": foreign_digest(digest), "digest_of": "payload"}
    return [row]
