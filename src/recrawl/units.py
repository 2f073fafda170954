"""Words people type → numbers: "2%", "7d", "10MB", "2026-01-31T12:00Z"; numbers pass unchanged."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.model import Budget, Time

_PERIODS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "week": 604_800.0}
_SECONDS = {w: s for name, s in _PERIODS.items() for w in (name[0], name, name + "s")}
_BYTES = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
MAX_DIGITS = 18  #: of a number of fetches, which must fit into 64 bits


def duration(text: str | float) -> float:
    """Seconds in "90s", "15m", "6h", "7d" or "2w"."""
    return _quantity(text, _SECONDS, "a duration", "90s, 15m, 6h, 7d or 2w")


def size(text: str | float) -> float:
    """Bytes in "500kB", "20MB" or "1GB"."""
    return _quantity(text, _BYTES, "a size", "500kB, 20MB or 1GB")


def share(text: str | float) -> float:
    """The fraction in "2%": 0.02."""
    if not isinstance(text, str):
        return float(text)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    if match is None or float(match[1]) > 100:
        raise BadInput(f"A share must be a percentage from 0% to 100%. Got {text!r}; try 2%.")
    return float(match[1]) / 100


def speed(text: str) -> float:
    """Simulated seconds for each real second in "1d/2s".

    >>> speed("1d/2s")
    43200.0
    """
    simulated, slash, real = text.partition("/")
    if not slash or not duration(real):
        raise BadInput(
            "A speed must be simulated time for real time, such as a day for two seconds. "
            f"Got {text!r}; try 1d/2s."
        )
    return duration(simulated) / duration(real)


def pace(text: str) -> tuple[int, float]:
    """Fetches, and the seconds in which they may be made, in "500/day" or "20/h".

    >>> pace("20/h")
    (20, 3600.0)
    """
    match = re.fullmatch(r"\s*(\d+)\s*/\s*([A-Za-z]+)\s*", text)
    if match is None or len(match[1]) > MAX_DIGITS or match[2].lower() not in _SECONDS:
        raise BadInput(
            "A pace must be a whole number of fetches in a second, minute, hour, day or week. "
            f"Got {text[:60]!r}; try 500/day or 20/h."
        )
    return int(match[1]), _SECONDS[match[2].lower()]


def budget(text: str | int) -> Budget:
    """Fetches from "200" or 200, a share of the pages from "2%"."""
    from recrawl.model import Budget

    written = str(text).strip()
    if re.fullmatch(r"\d+", written):
        if len(written) > MAX_DIGITS:
            raise BadInput(
                f"A budget must be below 10^{MAX_DIGITS} fetches. "
                f"Got {written[: MAX_DIGITS + 1]}…; try 100% for all pages."
            )
        return Budget(fetches=int(written))
    if written.endswith("%"):
        return Budget(share=share(written))
    raise BadInput(
        "A budget must be a whole number of fetches, or a share of the pages. "
        f"Got {text!r}; try 200 or 2%."
    )


def time(text: str | Time) -> Time:
    """Seconds since 1970 of an ISO 8601 date or time; UTC unless it says otherwise."""
    if not isinstance(text, str):
        return float(text)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(
            f"A time must be ISO 8601. Got {text!r}; try 2026-01-31 or 2026-01-31T12:00Z."
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def window(text: str | tuple[Time, Time] | None) -> tuple[Time, Time] | None:
    """The two times in "2026-01-01..2026-03-01"; None where there is no window."""
    if not isinstance(text, str):
        return text
    begin, dots, end = text.partition("..")
    if not dots:
        raise BadInput(f"A window must be A..B. Got {text!r}; try 2026-01-01..2026-03-01.")
    return time(begin), time(end)


def count(n: int, thing: str) -> str:
    """A number and its noun: 1 page, 2 pages."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"


def show_time(at: Time) -> str:
    """A time as ISO 8601 to the second; "never" for NaN."""
    if at != at:  # NaN
        return "never"
    if at >= 253_402_300_800:
        return "after the year 9999"
    if at < -62_135_596_800:
        return "before the year 1"
    return (
        datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
    )


def show_days(days: float) -> str:
    """A number of days in minutes, hours or days, rounded for people."""
    unit, value = ("d", days) if days >= 2 else ("h", days * 24)
    unit, value = (unit, value) if value >= 2 else ("min", days * 1440)
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def _quantity(text: str | float, units: dict[str, float], what: str, examples: str) -> float:
    if not isinstance(text, str):
        return float(text)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2].lower() not in units:
        raise BadInput(
            f"{what.capitalize()} must be a number and a unit. Got {text!r}; try {examples}."
        )
    return float(match[1]) * units[match[2].lower()]
