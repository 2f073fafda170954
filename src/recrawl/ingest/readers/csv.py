"""Comma-separated values with the columns of a visit."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.csv

from recrawl.ingest import visit_tables
from recrawl.ingest.lines import MAX_LINE_BYTES, blocks
from recrawl.ingest.sniff import csv_names, first_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recrawl.protocols import Source


_LINE_END = re.compile(r"\r\n?|\n")
_VALUE = r'(?:"(?:[^"]|"")*+"[^,]*+|[^",][^,]*+)?+'
#: A line without a quote that stays open, as Arrow reads it: only at the start of a value does a
#: quote mean anything.
_WHOLE_LINE = re.compile(rf"{_VALUE}(?:,{_VALUE})*+")


class Csv:
    """Visits as comma-separated values; the first line has the column names."""

    name: ClassVar[str] = "csv"

    def example(self) -> bytes:
        return b"url,at,status\nhttps://example.org/,2026-01-31T12:00:00Z,200\n"

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return "url" in csv_names(first_lines(head)[0])

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        names: list[str] = []
        for number, block in _whole_rows(blocks(stream, source)):
            if not names:
                first, _, block = block.partition(b"\n")
                names = csv_names(first.decode().rstrip("\r"))
                visit_tables.require_columns(names, source.filename)
                number += 1
            if block.strip():
                yield from _Block(names, source, number).read(block)


def _whole_rows(parts: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Blocks that do not end within quotes, unless a quote stays open for too long."""
    held: list[bytes] = []
    start, size, quotes = 1, 0, 0
    for number, block in parts:
        start = start if held else number
        held.append(block)
        size, quotes = size + len(block), quotes + block.count(b'"')
        if quotes % 2 == 0 or size > MAX_LINE_BYTES:
            yield start, b"".join(held)
            held, size, quotes = [], 0, 0
    if held:
        yield start, b"".join(held)


class _Block:
    """One block of lines: its rows, and those of lines that a stray quote hides."""

    def __init__(self, names: list[str], source: Source, number: int) -> None:
        self._names = names
        self._source = source
        self._where = f"after line {number - 1}"  # rows are not lines: some are blank or quoted
        self._hidden: list[str] = []

    def read(self, block: bytes) -> Iterator[pa.Table]:
        if block.count(b'"') % 2:
            # A file cut within quotes: the lines before that of its last quote are whole.
            line = block.rfind(b"\n", 0, block.rfind(b'"')) + 1
            line = line if block[:line].count(b'"') % 2 == 0 else 0
            block, rest = block[:line], block[line:]
            self._hidden.append(rest.decode())
        if block.strip():
            yield from self._parse(block, self._maybe_hidden)
        if self._hidden:
            yield from self._read_lines(_LINE_END.split("\n".join(self._hidden)))

    def _read_lines(self, lines: list[str]) -> Iterator[pa.Table]:
        """Read lines one by one, once: no value goes over the end of a line."""
        whole = []
        for line in lines:
            if _WHOLE_LINE.fullmatch(line):
                whole.append(line)
            else:
                self._source.reject(self._where, "A quote is not closed.", line)
        if any(line.strip() for line in whole):
            yield from self._parse("\n".join(whole).encode(), self._invalid)

    def _parse(
        self, block: bytes, invalid: Callable[[pyarrow.csv.InvalidRow], str]
    ) -> Iterator[pa.Table]:
        wanted = [name for name in visit_tables.COLUMNS if name in self._names]
        table = pyarrow.csv.read_csv(
            pa.BufferReader(block),
            read_options=pyarrow.csv.ReadOptions(
                column_names=self._names, block_size=len(block) + 1, use_threads=False
            ),
            parse_options=pyarrow.csv.ParseOptions(
                newlines_in_values=True, invalid_row_handler=invalid
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
        return visit_tables.visits(table, self._source, f"{self._where}, row", 1)

    def _maybe_hidden(self, row: pyarrow.csv.InvalidRow) -> str:
        """Keep a row of several lines for `_read_lines`: a stray quote may have joined them."""
        if _LINE_END.search(row.text.strip()):
            self._hidden.append(row.text)
            return "skip"
        return self._invalid(row)

    def _invalid(self, row: pyarrow.csv.InvalidRow) -> str:
        reason = f"{row.actual_columns} values for {row.expected_columns} columns."
        self._source.reject(self._where, reason, row.text)
        return "skip"
