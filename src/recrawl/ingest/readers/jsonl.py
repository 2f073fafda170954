"""JSON lines with the columns of a visit."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.json

from recrawl.ingest import visit_tables
from recrawl.ingest.lines import MALFORMED, blocks, json_object, lines, reason
from recrawl.ingest.sniff import json_keys
from recrawl.model import VISITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.protocols import Source

_FOREIGN_KEYS = {"fetchTime", "discovered", "known"}  # of other formats in JSON lines


class JsonLines:
    """Visits as JSON lines: `{"url": "https://a.example/", "at": "2026-01-31T12:00:00Z"}`."""

    name: ClassVar[str] = "jsonl"

    def example(self) -> bytes:
        return b'{"url": "https://example.org/", "at": "2026-01-31T12:00:00Z", "status": 200}\n'

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        keys = json_keys(head)
        return "url" in keys and not keys & _FOREIGN_KEYS

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        for number, block in blocks(stream, source):
            try:
                table = _read_block(block)
            except pa.ArrowInvalid:
                yield from visit_tables.by_row(_read_lines(number, block, source), source)
            else:
                yield from visit_tables.visits(table, source, "line", number)


def _read_block(block: bytes) -> pa.Table:
    """All lines at once; `ArrowInvalid` if one is not an object with values of the usual types."""
    table = pyarrow.json.read_json(
        pa.BufferReader(block),
        read_options=pyarrow.json.ReadOptions(block_size=len(block) + 1, use_threads=False),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=_schema(block), unexpected_field_behavior="ignore"
        ),
    )
    if len(table) != block.count(b"\n") + (not block.endswith(b"\n")):
        raise pa.ArrowInvalid("not one object in each line")  # rows have no line numbers then
    return table


def _schema(block: bytes) -> pa.Schema:
    """The types of the values in the first line, which most others share."""
    try:
        first: dict[str, Any] = dict(json.loads(block.split(b"\n", 1)[0]))
    except (ValueError, TypeError, RecursionError):
        raise pa.ArrowInvalid("the first line is not an object") from None
    types = {field.name: field.type for field in VISITS} | {"changed": pa.bool_()}
    types |= {name: _time_type(first.get(name)) for name in visit_tables.TIME_COLUMNS}
    types["digest"] = pa.uint64() if isinstance(first.get("digest"), int) else pa.string()
    return pa.schema(list(types.items()))


def _time_type(value: Any) -> pa.DataType:
    if isinstance(value, int) and value > 1 << 53:
        return pa.uint64()
    return pa.float64() if isinstance(value, int | float) else pa.string()


def _read_lines(number: int, block: bytes, source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    for i, line in lines(number, block):
        try:
            yield f"line {i}", json_object(line)
        except MALFORMED as error:
            source.reject(f"line {i}", reason(error), line)
