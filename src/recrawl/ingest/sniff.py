"""Recognises the format of a file by its first bytes."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING

from recrawl import registry
from recrawl.errors import BadInput
from recrawl.ingest.file_stream import HEAD_BYTES

if TYPE_CHECKING:
    from recrawl.ingest.file_stream import PeekableStream
    from recrawl.protocols import Reader

_MAX_LINES = 5  # looked at: one may be malformed, but later ones may be quoted text
_KEY = re.compile(r'"(\w+)"\s*:')


def reader_of(stream: PeekableStream, filename: str) -> Reader | None:
    """The one reader that accepts the file; None for an empty file."""
    head = stream.peek(HEAD_BYTES)
    if not head:
        return None
    readers: list[Reader] = [part() for part in registry.parts("reader").values()]
    matching = [reader for reader in readers if reader.accepts(head, filename)]
    surer = [reader for reader in matching if not getattr(reader, "is_last_resort", False)]
    matching = surer or matching
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(reader.name for reader in matching or readers)
    if matching:
        raise BadInput(f"The file {filename!r} could be any of: {names}. Choose with --format.")
    raise BadInput(
        f"The file {filename!r} is of no known format, by what it holds. Known: {names}."
        " If it is one of these, say which with --format."
    )


def first_lines(head: bytes) -> list[str]:
    """The first lines, without byte order mark and line ends."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", _MAX_LINES)[:_MAX_LINES]
    return [line.decode("utf-8", "replace").rstrip("\r") for line in lines]


def matches(head: bytes, pattern: re.Pattern[str]) -> bool:
    """Whether one of the first lines begins with the pattern."""
    return any(pattern.match(line) for line in first_lines(head))


def json_keys(head: bytes) -> set[str]:
    """The keys of the first line that is a JSON object; of its beginning if the head ends in it."""
    lines = first_lines(head)
    if not lines[0].lstrip().startswith("{"):
        return set()
    for line in lines:
        try:
            return set(json.loads(line))
        except (ValueError, TypeError, RecursionError):
            continue
    return set(_KEY.findall(lines[0])) if len(lines) == 1 else set()


def csv_names(line: str) -> list[str]:
    """The column names in the first line of a CSV file."""
    try:
        return [name.strip() for name in next(csv.reader([line]), [])]
    except csv.Error:
        return []
