"""How do foreign values become columns of visits: times, digests, numbers, tables?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from recrawl.ingest.stream import CutShort
from recrawl.page.rows import instant, table, text_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recrawl.page.rows import Row

ROWS = 500_000  #: most rows of a table
BYTES = 128 << 20  #: and about the most memory of one
_SMALL = 5_000  # rows turned into columns at once: Python objects take many times the memory
_LIGHT = 1 << 20  # and about the most text, while it still is in the processor's cache

_MOST = 1 << 62


def tables(rows: Iterable[Row]) -> Iterator[pa.Table]:
    """The rows as tables; those before a cut are not lost."""
    held: list[Row] = []
    weight = 0
    try:
        for row in rows:
            held.append(row)
            weight += len(row.get("text") or "") + 64 * len(row.get("links") or ())
            if len(held) >= _SMALL or weight >= _LIGHT:
                yield table(held)
                held, weight = [], 0
    except CutShort:
        if held:
            yield table(held)
        raise
    if held:
        yield table(held)


def sound(row: Row) -> Row:
    """The row, if its numbers fit their columns."""
    for name in ("at", "last_modified", "bytes"):
        value = row.get(name)
        if value is not None and not -_MOST < value < _MOST:
            raise ValueError(f"The value of {name} is out of range: {value}.")
    return row


def regrouped(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Small tables put together, so that a store is called seldom."""
    held: list[pa.Table] = []
    rows = size = 0
    try:
        for part in parts:
            if held and (rows + len(part) > ROWS or size + part.nbytes > BYTES):
                yield pa.concat_tables(held)
                held, rows, size = [], 0, 0
            held.append(part)
            rows, size = rows + len(part), size + part.nbytes
    except CutShort:
        if held:
            yield pa.concat_tables(held)
        raise
    if held:
        yield pa.concat_tables(held)


def stamp_micros(digits: str) -> int:
    """A time of 14 digits, or 17 with milliseconds."""
    if len(digits) not in (14, 17) or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"Not a 14-digit time: {digits[:40]!r}.")
    d = digits
    parts = (int(p) for p in (d[:4], d[4:6], d[6:8], d[8:10], d[10:12], d[12:14]))
    year, month, day, hour, minute, second = parts
    whole = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return instant(whole) + int(d[14:] or 0) * 1000


def foreign_digest(value: str) -> int:
    """Somebody else's digest as a number: equal where theirs are, however they spell it."""
    return text_key(value.rpartition(":")[2].strip().upper())


def status_code(value: Any) -> int | None:
    """A status as a number that fits; one far out of range stays out of range."""
    if value is None or value in ("", "-"):
        return None
    try:
        number = int(value)
    except ValueError as error:
        raise ValueError(f"Not a status: {value!r}.") from error
    if isinstance(value, bool) or (isinstance(value, float) and number != value):
        raise TypeError(f"Not a status: {value!r}.")
    return max(-1, min(number, 1000))


def is_web(url: str) -> bool:
    """Whether crawlers mean a page by it, and not a name lookup or a file."""
    return url[:7].lower() == "http://" or url[:8].lower() == "https://"
