"""Which pages are bred on, which validate, which test? And what of days that failed?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.model import BoolArray, IntArray

LEAST = 5  #: pages, so that each part has one


@dataclass(frozen=True)
class Split:
    """Rows of pages."""

    train: IntArray
    validation: IntArray
    test: IntArray


def folds(pages: int, count: int = 5, *, seed: int | None = None) -> list[Split]:
    """Each fold tests another share of the pages; of the rest one half validates, one trains.

    Blocks in the order of the rows, or with a `seed` drawn at random. Those after the tested ones
    validate and the others train, round to the first: else folds would share what they train on,
    which the numbers of the thesis rule out.

    >>> [(split.test.tolist(), split.train.tolist()) for split in folds(5, 5)][:2]
    [([0], [3, 4]), ([1], [4, 0])]
    """
    if count < 2 or pages < max(count, LEAST):
        raise BadInput(
            f"To split pages takes at least {max(count, LEAST)} of them and 2 folds. "
            f"Got {pages} and {count}; use a larger trace."
        )
    rows = np.arange(pages)
    if seed is not None:
        rows = np.random.default_rng(seed).permutation(pages)
    found = []
    for block in np.array_split(np.arange(pages), count):
        rest = np.roll(rows, -int(block[-1]) - 1)[: pages - len(block)]
        half = len(rest) // 2
        found.append(Split(rest[half:], rest[:half], rows[block]))
    return found


def imputed(bits: BoolArray, failed: BoolArray) -> BoolArray:
    """Changes, with those of failed days guessed from the days before (Santos 2013).

    A page changed on a failed day if the time since its last change is its most frequent time
    between changes; the shorter of equally frequent ones. With fewer than two changes it did not.
    """
    if bits.shape != failed.shape:
        raise BadInput(
            f"bits and failed must have the same shape. Got {bits.shape} and {failed.shape}."
        )
    found: BoolArray = bits & ~failed
    _impute(found, failed)
    return found


@njit(cache=True)
def _impute(bits, failed):  # type: ignore[no-untyped-def]
    for page in range(len(bits)):
        last, gaps = -1, np.zeros(bits.shape[1] + 1, np.int64)
        for day in range(bits.shape[1]):
            if failed[page, day]:
                bits[page, day] = gaps.max() > 0 and day - last == np.argmax(gaps)
            if bits[page, day]:
                if last >= 0:
                    gaps[day - last] += 1
                last = day
