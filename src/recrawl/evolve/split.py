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
    if count < 2 or pages < max(count, MIN_PAGES):
        raise BadInput(
            f"A split needs at least {max(count, MIN_PAGES)} pages and 2 folds. "
            f"Got {pages} and {count}; use a larger trace."
        )
    rows = np.arange(pages)
    if seed is not None:
        rows = np.random.default_rng(seed).permutation(pages)
    splits = []
    for block in np.array_split(np.arange(pages), count):
        rest = np.roll(rows, -int(block[-1]) - 1)[: pages - len(block)]
        half = len(rest) // 2
        splits.append(PageSplit(rest[half:], rest[:half], rows[block]))
    return splits
