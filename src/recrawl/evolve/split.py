"""Splits pages into those that breed, those that validate and those that test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.model import IntArray

MIN_PAGES = 5  #: so that each part has one


@dataclass(frozen=True)
class PageSplit:
    """Rows of pages."""

    train: IntArray
    validation: IntArray
    test: IntArray


def split_folds(pages: int, count: int = 5, *, seed: int | None = None) -> list[PageSplit]:
    """Each fold tests another block of the pages; half of the rest validates, half trains.

    Rows are in order, or shuffled with a `seed`. The pages after the tested block validate and the
    others train, wrapping around. Otherwise folds would share their training pages, which the
    numbers of the thesis rule out.

    >>> [(split.test.tolist(), split.train.tolist()) for split in split_folds(5, 5)][:2]
    [([0], [3, 4]), ([1], [4, 0])]
    """
    if count < 2:
        raise BadInput(f"folds must be 2 or more. Got {count}.")
    _check_size(pages, count)
    rows = np.arange(pages)
    if seed is not None:
        rows = np.random.default_rng(seed).permutation(pages)
    splits = []
    for block in np.array_split(np.arange(pages), count):
        rest = np.roll(rows, -int(block[-1]) - 1)[: pages - len(block)]
        half = len(rest) // 2
        splits.append(PageSplit(rest[half:], rest[:half], rows[block]))
    return splits


def split_periods(pages: int, *, seed: int) -> PageSplit:
    """3/5 of the pages train, 1/5 validate, 1/5 test, drawn with the seed (Santos et al. 2015).

    >>> [len(part) for part in vars(split_periods(11, seed=0)).values()]
    [7, 2, 2]
    """
    _check_size(pages, 1)
    rows = np.random.default_rng(seed).permutation(pages)
    fifth = pages // 5
    return PageSplit(rows[2 * fifth :], rows[fifth : 2 * fifth], rows[:fifth])


def _check_size(pages: int, folds: int) -> None:
    """Refuse to split fewer pages than there are parts."""
    if pages < max(folds, MIN_PAGES):
        raise BadInput(
            f"A split needs at least {max(folds, MIN_PAGES)} pages. "
            f"Got {pages}; use a larger trace."
        )
