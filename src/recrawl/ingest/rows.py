"""How do foreign values become columns of visits: times, digests, numbers, tables?"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import xxhash

from recrawl.ingest.stream import CutShort
from recrawl.model import VISITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recrawl.content import Content

#: Column → value, for the columns that have one. Times are whole microseconds since 1970.
Row = dict[str, Any]

ROWS = 500_000  #: most rows of a table
BYTES = 128 << 20  #: and about the most memory of one
_SMALL = 5_000  # rows turned into columns at once: Python objects take many times the memory
_LIGHT = 1 << 20  # and about the most text, while it still is in the processor's cache

_MOST = 1 << 62
EARLIEST = 1e8  #: seconds; fewer, written as text, may as well be a year or a date

_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*")
_JAVA = re.compile(r"\w{3} (\w{3}) (\d\d) (\d\d:\d\d:\d\d) (\S+) (\d{4})")


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


def table(rows: list[Row]) -> pa.Table:
    """The rows as one table of visits."""
    used = set().union(*rows)
    return pa.table(
        [
            pa.array([row.get(f.name) for row in rows], f.type)
            if f.name in used
            else pa.nulls(len(rows), f.type)
            for f in VISITS
        ],
        schema=VISITS,
    )


def sound(row: Row) -> Row:
    """The row, if its numbers fit their columns."""
    for name in ("at", "last_modified", "bytes"):
        value = row.get(name)
        if value is not None and not -_MOST < value < _MOST:
            raise ValueError(f"The value of {name} is out of range: {value}.")
    return row


def of_content(found: Content) -> Row:
    """What a body shows, as columns.

    No simhash: it takes longer than all else, and whoever needs one has the text.
    """
    return {
        "digest": found.digest,
        "digest_of": found.digest_of,
        "title": found.title,
        "text": found.text if found.digest_of == "text" else None,
        "links": found.links,
        "nofollow": found.nofollow,
        "bytes": found.bytes,
    }


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


def micros(value: Any) -> int | None:
    """A time given as epoch seconds, epoch milliseconds, ISO 8601 (UTC if it does not say)."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return _iso(value)
        value = float(value)
        if abs(value) < EARLIEST:
            raise ValueError(f"Not clear whether a date or epoch seconds: {value:.0f}.")
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, date):
        return _instant(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"Not a time: {value!r}.")
    seconds = value / 1000 if abs(value) > 1e11 else value
    if not abs(seconds) < 1e12:
        raise ValueError(f"Not a time: {value!r}.")
    return round(seconds * 1e6)


def _iso(value: str) -> int:
    try:
        return _instant(datetime.fromisoformat(value.strip()))
    except ValueError as error:
        raise ValueError(f"Not a time (ISO 8601 or epoch seconds): {value[:60]!r}.") from error


def _instant(value: datetime) -> int:
    value = value if value.tzinfo else value.replace(tzinfo=UTC)
    gap = value - datetime(1970, 1, 1, tzinfo=UTC)
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds


def stamp_micros(digits: str) -> int:
    """A time of 14 digits, or 17 with milliseconds."""
    if len(digits) not in (14, 17) or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"Not a 14-digit time: {digits[:40]!r}.")
    d = digits
    parts = (int(p) for p in (d[:4], d[4:6], d[6:8], d[8:10], d[10:12], d[12:14]))
    year, month, day, hour, minute, second = parts
    whole = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return _instant(whole) + int(d[14:] or 0) * 1000


def header_micros(value: Any) -> int | None:
    """A time as HTTP headers, Java and ISO 8601 write it; none where it is not one."""
    try:
        return micros(value)
    except (ValueError, TypeError):
        pass
    try:
        parts = parsedate_tz(_JAVA.sub(r"\2 \1 \5 \3 \4", value))
        return None if parts is None else mktime_tz(parts) * 1_000_000
    except (ValueError, TypeError, OverflowError):
        return None


def foreign_digest(value: str) -> int:
    """Somebody else's digest as a number: equal where theirs are, however they spell it."""
    return text_key(value.rpartition(":")[2].strip().upper())


def text_key(value: str) -> int:
    """A text as a number: equal where the texts are."""
    return int(xxhash.xxh3_64_intdigest(value.encode()))


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
