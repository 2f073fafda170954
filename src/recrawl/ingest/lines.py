"""The lines of a text file of any size, and the base of readers with one record in each line."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import IO, TYPE_CHECKING, Any

from recrawl.ingest.batches import tables
from recrawl.ingest.foreign_values import check_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

MAX_LINE_BYTES = 8 << 20  #: a longer line is rejected unread
_READ_BYTES = 1 << 20

#: What the parser of one record may raise to say that the record is malformed.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


class LineReader(ABC):
    """Base of the readers of formats with one record in each line."""

    @abstractmethod
    def rows(self, line: str) -> list[Row]:
        """The visits that a line holds; raises one of `MALFORMED` if it is malformed."""

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        yield from tables(self._all_rows(stream, source))

    def _all_rows(self, stream: IO[bytes], source: Source) -> Iterator[Row]:
        for first, block in blocks(stream, source):
            for number, line in lines(first, block):
                try:
                    rows = [check_ranges(row) for row in self.rows(line)]
                except MALFORMED as error:
                    source.reject(f"line {number}", reason(error), line)
                else:
                    yield from rows


def blocks(stream: IO[bytes], source: Source) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines in UTF-8, each with the number of its first line."""
    for number, block in _whole_lines(stream, source):
        plain = block.removeprefix(b"\xef\xbb\xbf") if number == 1 else block
        yield number, _utf8(plain, number, source)


def _whole_lines(stream: IO[bytes], source: Source) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines; in place of an overlong line is an empty one."""
    held: list[bytes] = []
    number, size, skipping = 1, 0, False
    while chunk := stream.read(_READ_BYTES):
        if skipping:
            end = chunk.find(b"\n")
            if end < 0:
                continue
            chunk, skipping = chunk[end:], False
        end = chunk.rfind(b"\n") + 1
        if end:
            yield number, b"".join([*held, chunk[:end]])
            number += chunk.count(b"\n")
            held, size = [], 0
        held.append(chunk[end:])
        size += len(chunk) - end
        if size > MAX_LINE_BYTES:
            why = f"The line is longer than {MAX_LINE_BYTES} bytes."
            source.reject(f"line {number}", why, held[0][:2000])
            held, size, skipping = [], 0, True
    if size:
        yield number, b"".join(held)


def _utf8(block: bytes, number: int, source: Source) -> bytes:
    """The block; lines that are not UTF-8 are rejected and emptied."""
    try:
        block.decode()
    except UnicodeDecodeError:
        lines = block.split(b"\n")
        for i, line in enumerate(lines):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                source.reject(f"line {number + i}", f"Not UTF-8: {error.reason}.", line)
                lines[i] = b""
        return b"\n".join(lines)
    return block


def lines(first: int, block: bytes) -> Iterator[tuple[int, str]]:
    """The lines of a block that are not blank, with their numbers, counted from `first`."""
    for number, line in enumerate(block.decode().split("\n"), first):
        if line and not line.isspace():
            yield number, line.rstrip("\r")


def reason(error: Exception) -> str:
    """Why a record is malformed, as a sentence."""
    if isinstance(error, KeyError):
        return f"The field {error.args[0]!r} is missing."
    return str(error) or type(error).__name__


def json_object(line: str) -> dict[str, Any]:
    """The JSON object in a line; its text can be encoded as UTF-8."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise ValueError(f"Not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise TypeError(f"Not a JSON object but {type(value).__name__}.")
    if "\\u" in line and "\\ud" in line.lower():
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate is a ValueError here
    return value
