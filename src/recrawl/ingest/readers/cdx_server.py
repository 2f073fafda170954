"""Answers of the Wayback Machine's CDX server: text of seven fields, and JSON."""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING, Any, ClassVar

from recrawl.ingest.captures import capture_rows
from recrawl.ingest.lines import LineReader
from recrawl.ingest.sniff import first_lines, matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

_USUAL_NAMES = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
_FIELDS = {"original": "url", "mimetype": "mime", "statuscode": "status"}
_LINE = re.compile(r"\S+ \d{14} \S+ \S+ (?:\d{3}|-) \S+ (?:\d+|-)\s*$")
_JSON = re.compile(r'\s*\[\s*\[\s*"')


class CdxServer(LineReader):
    """Captures as the Wayback CDX server lists them: a line or a JSON array for each."""

    name: ClassVar[str] = "cdx-server"

    def example(self) -> bytes:
        return (
            b"org,example)/ 20260131120000 https://example.org/ text/html 200 "
            b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ 1043\n"
        )

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        first = first_lines(head)[0]
        has_names = '"timestamp"' in first and '"original"' in first
        has_letters = first.lstrip().startswith("CDX ")  # that is a file for the reader cdx
        return bool(_JSON.match(first) and has_names) or (not has_letters and matches(head, _LINE))

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        self._names = _USUAL_NAMES  # until a row of names gives others
        yield from super().read(stream, source)

    def rows(self, line: str) -> list[Row]:
        text = line.strip()
        captures = _json_rows(text) if text[:1] in "[]" else [text.split()]
        return [row for values in captures for row in self._capture(values)]

    def _capture(self, values: list[Any]) -> list[Row]:
        if len(values) <= 1:  # an end, or the key with which a query is resumed
            return []
        if "original" in values and "timestamp" in values:
            self._names = values
            return []
        if len(values) != len(self._names):
            raise ValueError(f"{len(values)} fields instead of {len(self._names)}.")
        pairs = zip(self._names, values, strict=True)
        return capture_rows({_FIELDS.get(name, name): value for name, value in pairs})


def _json_rows(text: str) -> list[list[Any]]:
    """The arrays in a line of an array of arrays, which may begin and end on other lines."""
    text = text.rstrip(",")
    begins, ends = text.startswith("[["), text.endswith("]]")
    if begins and not ends:
        text = text[1:]
    elif ends and not begins:
        text = text[:-1]
    if text in ("[", "]"):
        return []
    rows = json.loads(text if begins and ends else f"[{text}]")
    if not all(isinstance(row, list) for row in rows):
        raise TypeError("Not an array of arrays.")
    return list(rows)
