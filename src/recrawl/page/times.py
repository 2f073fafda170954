"""Times as crawl files and HTTP headers write them → microseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from email.utils import mktime_tz, parsedate_tz
from typing import Any

MIN_SECONDS_IN_TEXT = 1e8  #: a smaller number, written as text, may be a year or a date
_MAX_SECONDS = 1e12  # in microseconds they fit 64 bits

_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*")
_JAVA = re.compile(r"\w{3} (\w{3}) (\d\d) (\d\d:\d\d:\d\d) (\S+) (\d{4})")


def micros(value: Any) -> int | None:
    """A time given as epoch seconds, epoch milliseconds or ISO 8601 (UTC if it names no zone).

    None for None and for empty text; `ValueError` or `TypeError` for what is not a time.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return _iso_micros(value)
        value = float(value)
        if abs(value) < MIN_SECONDS_IN_TEXT:
            raise ValueError(f"Not clear whether a date or epoch seconds: {value:.0f}.")
    if isinstance(value, datetime):
        return datetime_micros(value)
    if isinstance(value, date):
        return datetime_micros(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"Not a time: {value!r}.")
    seconds = value / 1000 if abs(value) > 1e11 else value
    if not abs(seconds) < _MAX_SECONDS:
        raise ValueError(f"Not a time: {value!r}.")
    return round(seconds * 1e6)


def _iso_micros(value: str) -> int:
    try:
        return datetime_micros(datetime.fromisoformat(value.strip()))
    except ValueError as error:
        raise ValueError(f"Not a time (ISO 8601 or epoch seconds): {value[:60]!r}.") from error


def datetime_micros(value: datetime) -> int:
    """Microseconds since 1970; a time without a zone is UTC."""
    value = value if value.tzinfo else value.replace(tzinfo=UTC)
    gap = value - datetime(1970, 1, 1, tzinfo=UTC)
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds


def header_micros(value: Any) -> int | None:
    """A time as HTTP headers, Java or `micros` write it; None for anything else."""
    try:
        return micros(value)
    except (ValueError, TypeError):
        pass
    try:
        parts = parsedate_tz(_JAVA.sub(r"\2 \1 \5 \3 \4", value))
        seconds = None if parts is None else mktime_tz(parts)
    except (ValueError, TypeError, OverflowError):
        return None
    return None if seconds is None or abs(seconds) >= _MAX_SECONDS else seconds * 1_000_000
