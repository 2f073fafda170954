"""What are the lines of a text file, however long it or any of them is?"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from recrawl.ingest.foreign_values import check_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

LONGEST = 8 << 20  #: bytes; a longer line is rejected unread
_BLOCK = 1 << 20

#: What a parser of one foreign record may raise to say that it is malformed.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def blocks(stream: IO[bytes], source: Source) -> Iterator[tuple[int, bytes]]:
    """Runs of whole UTF-8 lines, each with the number of its first line."""
    for number, block in _whole(stream, source):
        plain = block.removeprefix(b"\xef\xbb\xbf") if number == 1 else block
        yield number, _utf8(plain, number, source)


def _whole(stream: IO[bytes], source: Source) -> Iterator[tuple[int, bytes]]:
    """Blocks that end with a line; an overlong line leaves an empty one in its place."""
    held: list[bytes] = []
    number, size, skipping = 1, 0, False
    while chunk := stream.read(_BLOCK):
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
        if size > LONGEST:
            why = f"The line is longer than {LONGEST} bytes."
            source.reject(f"line {number}", why, held[0][:2000])
            held, size, skipping = [], 0, True
    if size:
        yield number, b"".join(held)


def _utf8(block: bytes, number: int, source: Source) -> bytes:
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


def lines(stream: IO[bytes], source: Source) -> Iterator[tuple[int, str]]:
    """Every line that is not blank, with its number."""
    for number, block in blocks(stream, source):
        yield from numbered(number, block)


def numbered(number: int, block: bytes) -> Iterator[tuple[int, str]]:
    """The lines of one block that are not blank."""
    for i, line in enumerate(block.decode().split("\n"), number):
        if line and not line.isspace():
            yield i, line.rstrip("\r")


def parsed(
    lines: Iterable[tuple[int, str]], parse: Callable[[str], Iterable[Row]], source: Source
) -> Iterator[Row]:
    """The rows of every line; those that do not parse are rejected."""
    for number, line in lines:
        try:
            rows = [check_ranges(row) for row in parse(line)]
        except MALFORMED as error:
            source.reject(f"line {number}", reason(error), line)
        else:
            yield from rows


def reason(error: Exception) -> str:
    """What to tell of a malformed record."""
    if isinstance(error, KeyError):
        return f"The field {error.args[0]!r} is missing."
    return str(error) or type(error).__name__


def json_object(line: str) -> dict[str, Any]:
    """The object on a line, with text that can be stored."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise ValueError(f"Not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise TypeError(f"Not a JSON object but {type(value).__name__}.")
    if "\\u" in line and "\\ud" in line.lower():
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate is a ValueError here
    return value
