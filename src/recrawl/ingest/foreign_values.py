"""Values as other crawlers write them → values of our columns: times, digests, statuses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from recrawl.page.fingerprints import text_hash
from recrawl.page.times import datetime_micros

if TYPE_CHECKING:
    from recrawl.page.visit_rows import Row

_MAX_INTEGER = 1 << 62


def check_ranges(row: Row) -> Row:
    """The row itself; `ValueError` if a number does not fit its column."""
    for name in ("at", "last_modified", "bytes"):
        value = row.get(name)
        if value is not None and not -_MAX_INTEGER < value < _MAX_INTEGER:
            raise ValueError(f"The value of {name} is out of range: {value}.")
    return row


def stamp_micros(digits: str) -> int:
    """A time of 14 digits (YYYYMMDDhhmmss), or 17 with milliseconds, in microseconds since 1970."""
    if len(digits) not in (14, 17) or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"Not a 14-digit time: {digits[:40]!r}.")
    d = digits
    parts = (int(p) for p in (d[:4], d[4:6], d[6:8], d[8:10], d[10:12], d[12:14]))
    year, month, day, hour, minute, second = parts
    whole = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return datetime_micros(whole) + int(d[14:] or 0) * 1000


def foreign_digest(value: str) -> int:
    """Another program's digest as a number, whatever its prefix (`sha1:`) and letter case."""
    return text_hash(value.rpartition(":")[2].strip().upper())


def status_code(value: Any) -> int | None:
    """A status as a number; one far out of range becomes -1 or 1000, so that it fits its column."""
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
    """Whether it is the address of a web page, and not of a name lookup or a file."""
    return url[:7].lower() == "http://" or url[:8].lower() == "https://"
