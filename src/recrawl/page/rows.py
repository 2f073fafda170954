"""How do values of a fetch become a row, and rows a table of visits?"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import xxhash

from recrawl.model import VISITS

if TYPE_CHECKING:
    from recrawl.page.content import Content

#: Column → value, for the columns that have one. Times are whole microseconds since 1970.
Row = dict[str, Any]

EARLIEST = 1e8  #: seconds; fewer, written as text, may as well be a year or a date

_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*")
_JAVA = re.compile(r"\w{3} (\w{3}) (\d\d) (\d\d:\d\d:\d\d) (\S+) (\d{4})")


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
        return instant(value)
    if isinstance(value, date):
        return instant(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"Not a time: {value!r}.")
    seconds = value / 1000 if abs(value) > 1e11 else value
    if not abs(seconds) < 1e12:
        raise ValueError(f"Not a time: {value!r}.")
    return round(seconds * 1e6)


def _iso(value: str) -> int:
    try:
        return instant(datetime.fromisoformat(value.strip()))
    except ValueError as error:
        raise ValueError(f"Not a time (ISO 8601 or epoch seconds): {value[:60]!r}.") from error


def instant(value: datetime) -> int:
    """Microseconds since 1970; a time without a zone is UTC."""
    value = value if value.tzinfo else value.replace(tzinfo=UTC)
    gap = value - datetime(1970, 1, 1, tzinfo=UTC)
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds


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


def text_key(value: str) -> int:
    """A text as a number: equal where the texts are."""
    return int(xxhash.xxh3_64_intdigest(value.encode()))
