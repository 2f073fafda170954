"""What is a world? Pages, the times at which they change, and what they then say."""

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

START: Time = 1_767_225_600.0  #: midnight of 2026-01-01, a Thursday; where every world begins
MOST = 500_000_000  #: pages times days


class PageContent(Protocol):
    """What does a page say in a version? A row depends on no other; version 0 is first."""

    def texts(self, page: IntArray, version: IntArray) -> list[str]: ...
    def links(self, page: IntArray, version: IntArray) -> list[list[str]]: ...


@dataclass(frozen=True)
class World:
    """Pages and their changes over a window; page i owns the times at[start[i]:start[i + 1]]."""

    name: str
    made: str  #: the command that makes it again
    urls: Sequence[str]  #: sorted
    start: IntArray
    at: FloatArray  #: whole seconds, so that every file format holds them exactly
    window: tuple[Time, Time]
    content: PageContent | None  #: None: the changes are all there is, and are written as bits
    truth: Mapping[str, Column]  #: what each page was made with, such as its rate

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
        """Did page i change on day d, that is after midnight d and until midnight d + 1?"""
        bits = np.zeros((len(self), self.days), np.uint8)
        bits[self.page, np.ceil((self.at - self.window[0]) / DAY).astype(np.int64) - 1] = 1
        return bits


def generator(*, pages: int, days: int, seed: int) -> np.random.Generator:
    """The source of all chance in a world of that size."""
    for name, value, least in (("pages", pages, 1), ("days", days, 1), ("seed", seed, 0)):
        if value < least:
            raise BadInput(f"{name} must be {least} or more. Got {value}; try {max(least, 100)}.")
    if pages * days > MOST:
        raise BadInput(
            f"pages times days must be at most {MOST:,}, which takes minutes. "
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
    """An argument may come from the command line as any text."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def command(part: Any, *, pages: int, days: int, seed: int) -> str:
    """What one types to make this world again."""
    given = ",".join(f"{name}={_written(value)}" for name, value in vars(part).items())
    name = f"{part.name}:{given}" if given else part.name
    return f"recrawl world {name} --pages {pages} --days {days} --seed {seed}"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def changes(
    page: IntArray, day: FloatArray, *, pages: int, days: int
) -> tuple[IntArray, FloatArray]:
    """`start` and `at` of a world: changes on a day, as a number from 0, in any order.

    Those outside the window are left out, as are those within the same second of a page.
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
    content: PageContent | None = None,
    **truth: Column,
) -> World:
    """The world that a part made; `changed`: page and day of each change, in any order."""
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
