"""A world: made-up pages, the times at which they change, and their content."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from recrawl.errors import BadInput
from recrawl.model import DAY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from recrawl.model import Column, FloatArray, IntArray, Time

START: Time = 1_767_225_600.0  #: midnight of 2026-01-01, a Thursday, when every world begins
MAX_PAGE_DAYS = 500_000_000  #: pages times days


class WorldContent(Protocol):
    """The text and links of versions of pages; rows are independent, version 0 is the first."""

    def texts(self, page: IntArray, version: IntArray) -> list[str]: ...
    def links(self, page: IntArray, version: IntArray) -> list[list[str]]: ...


@dataclass(frozen=True)
class Announcements:
    """The changes that a sitemap announces, true or not, in any order."""

    page: IntArray
    at: FloatArray  #: the time of the change by its claim, from when it is there to be read


@dataclass(frozen=True)
class World:
    """Pages and their changes over a window; page i owns the times at[start[i]:start[i + 1]]."""

    name: str
    made: str  #: the command that makes it
    urls: Sequence[str]  #: sorted
    start: IntArray
    at: FloatArray  #: whole seconds, which every file format stores exactly
    window: tuple[Time, Time]
    content: WorldContent | None  #: None: the world has only changes, and is written as bits
    truth: Mapping[str, Column]  #: parameters of each page, such as its rate
    announced: Announcements | None = None

    def __len__(self) -> int:
        return len(self.urls)

    @cached_property
    def page(self) -> IntArray:
        """The page of each change."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @property
    def days(self) -> int:
        return round((self.window[1] - self.window[0]) / DAY)

    def bits(self) -> NDArray[np.uint8]:
        """Whether page i changes on day d: after midnight d and until midnight d + 1."""
        bits = np.zeros((len(self), self.days), np.uint8)
        bits[self.page, np.ceil((self.at - self.window[0]) / DAY).astype(np.int64) - 1] = 1
        return bits


def generator(*, pages: int, days: int, seed: int) -> np.random.Generator:
    """The random generator of a world of that size; refuses impossible sizes."""
    for name, value, least in (("pages", pages, 1), ("days", days, 1), ("seed", seed, 0)):
        if value < least:
            raise BadInput(f"{name} must be {least} or more. Got {value}; try {max(least, 100)}.")
    if pages * days > MAX_PAGE_DAYS:
        raise BadInput(
            f"pages times days must be at most {MAX_PAGE_DAYS:,}, which takes minutes. "
            f"Got {pages:,} times {days:,}; make fewer of either."
        )
    return np.random.default_rng(seed)


def above_0(**values: float) -> None:
    """Refuse arguments that are not above 0."""
    for name, value in values.items():
        if not (_number(value) and 0.0 < value < np.inf):
            raise BadInput(f"{name} must be a number above 0. Got {value}; try 0.5.")


def shares(**values: float) -> None:
    """Refuse arguments that are not from 0 to 1."""
    for name, value in values.items():
        if not (_number(value) and 0.0 <= value <= 1.0):
            raise BadInput(f"{name} must be from 0 to 1. Got {value}; try 0.5.")


def counts(**values: int) -> None:
    """Refuse arguments that are not whole and 1 or more."""
    for name, value in values.items():
        if not (_number(value) and value >= 1 and value % 1 == 0):
            raise BadInput(f"{name} must be a whole number, 1 or more. Got {value}; try 4.")


def _number(value: object) -> bool:
    """Whether it is a number; an argument may come from the command line as text."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def command(part: Any, *, pages: int, days: int, seed: int) -> str:
    """The command that makes this world."""
    given = ",".join(f"{name}={_written(value)}" for name, value in vars(part).items())
    name = f"{part.name}:{given}" if given else part.name
    return f"recrawl world {name} --pages {pages} --days {days} --seed {seed}"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def changes(
    page: IntArray, day: FloatArray, *, pages: int, days: int
) -> tuple[IntArray, FloatArray]:
    """`start` and `at` of a world, from the page and the day of each change, in any order.

    A day is a number from 0 with a fraction. Changes outside the window are left out; those of a
    page within the same second are one.
    """
    second = np.floor(day * DAY).astype(np.int64)
    inside = (second > 0) & (second <= days * DAY)
    span = int((days + 1) * DAY)
    both = np.unique(page[inside].astype(np.int64) * span + second[inside])
    start = np.searchsorted(both, np.arange(pages + 1) * span)
    return start, START + (both % span).astype(np.float64)


def world_of(
    part: Any,
    urls: Sequence[str],
    changed: tuple[IntArray, FloatArray],
    *,
    days: int,
    seed: int,
    content: WorldContent | None = None,
    **truth: Column,
) -> World:
    """The world made by a part; `changed` has the page and the day of each change, in any order."""
    start, at = changes(*changed, pages=len(urls), days=days)
    return World(
        name=part.name,
        made=command(part, pages=len(urls), days=days, seed=seed),
        urls=urls,
        start=start,
        at=at,
        window=(START, START + days * DAY),
        content=content,
        truth=truth,
    )
