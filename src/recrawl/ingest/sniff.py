"""Of what format is a file, by what it holds?"""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING

from recrawl import registry
from recrawl.errors import BadInput
from recrawl.ingest.file_stream import HEAD

if TYPE_CHECKING:
    from recrawl.ingest.file_stream import Tap
    from recrawl.protocols import Reader

_FIRST = 5  # lines looked at: one may be malformed, but a later one may be quoted matter
_KEY = re.compile(r'"(\w+)"\s*:')


def reader_of(stream: Tap, filename: str) -> Reader | None:
    """The one reader that knows the file; none for an empty file."""
    head = stream.peek(HEAD)
    if not head:
        return None
    readers: list[Reader] = [part() for part in registry.parts("reader").values()]
    fit = [reader for reader in readers if reader.accepts(head, filename)]
    if len(fit) == 1:
        return fit[0]
    names = ", ".join(reader.name for reader in fit or readers)
    if fit:
        raise BadInput(f"The file {filename!r} could be any of: {names}. Choose with --format.")
    raise BadInput(
        f"The file {filename!r} is of no known format, by what it holds. Known: {names}."
        " If it is one of these, say which with --format."
    )


def first_lines(head: bytes) -> list[str]:
    """The first lines, without byte order mark."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", _FIRST)[:_FIRST]
    return [line.decode("utf-8", "replace").rstrip("\r") for line in lines]


def matches(head: bytes, line: re.Pattern[str]) -> bool:
    """Whether one of the first lines begins like that."""
    return any(line.match(text) for text in first_lines(head))


def json_keys(head: bytes) -> set[str]:
    """The keys of the first object on a line; of its start where the head holds no more."""
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
    """The column names in a first line."""
    try:
        return [name.strip() for name in next(csv.reader([line]), [])]
    except csv.Error:
        return []
