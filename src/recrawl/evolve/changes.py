"""In which cycles did each page change? The truth that a simulation answers from, a bit each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, IntArray, KeyArray

WORD = 64
NEVER = 2**30  #: a cycle that does not come
_DEBRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACE = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACE[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit


def _no_contents() -> NDArray[np.uint16]:
    return np.empty((0, 0), np.uint16)


@dataclass(frozen=True)
class Changes:
    """Pages over cycles 1, 2, …; in cycle 0 the first copy of each was taken.

    Bit c − 1 of a page's words: it changed between cycles c − 1 and c. Where pages return to what
    they were, `contents` says which of its contents a page had in cycles 0, 1, …; a visit then
    compares contents, and does not see what came and went between two visits.
    """

    words: KeyArray  #: a row a page
    cycles: int
    key: KeyArray  #: of each page: its identity in ties
    contents: NDArray[np.uint16] = field(default_factory=_no_contents)
    cycle_days: float = 1.0

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: IntArray | BoolArray) -> Changes:
        """Some of the pages."""
        kept = self.contents[rows] if self.contents.size else self.contents
        return replace(self, words=self.words[rows], key=self.key[rows], contents=kept)


def from_bits(bits: BoolArray, key: KeyArray | None = None, *, cycle_days: float = 1.0) -> Changes:
    """From a row a page and a column a cycle, the first of them cycle 1."""
    if bits.ndim != 2 or 0 in bits.shape:
        raise BadInput(f"bits must be a row a page and a column a cycle. Got shape {bits.shape}.")
    pages, cycles = bits.shape
    width = -(-cycles // WORD)
    packed = np.zeros((pages, width * 8), np.uint8)
    packed[:, : -(-cycles // 8)] = np.packbits(bits.astype(np.bool_), axis=1, bitorder="little")
    names = np.arange(pages, dtype=np.uint64) if key is None else key
    return Changes(packed.view("<u8").astype(np.uint64), cycles, names, cycle_days=cycle_days)


def from_contents(
    contents: NDArray[np.uint16], key: KeyArray | None = None, *, cycle_days: float = 1.0
) -> Changes:
    """From what each page said in cycles 0, 1, …, as numbers of its own contents."""
    changes = from_bits(contents[:, 1:] != contents[:, :-1], key, cycle_days=cycle_days)
    ordered = np.sort(contents, axis=1)
    distinct = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
    came_back = distinct < (contents[:, 1:] != contents[:, :-1]).sum(axis=1)
    return replace(changes, contents=contents) if came_back.any() else changes


@njit(cache=True)
def lowest(word):  # type: ignore[no-untyped-def]
    """The place of the lowest bit that is set."""
    alone = word & (~word + np.uint64(1))
    return _PLACE[(alone * _DEBRUIJN) >> np.uint64(58)]


# Inlined by hand of numba: called once a page and cycle, they cost less than the call would.
@njit(cache=True, inline="always")
def next_change(words, page, cycle):  # type: ignore[no-untyped-def]
    """The first cycle after `cycle` in which the page changed."""
    word = np.uint64(0)
    if cycle // WORD < words.shape[1]:
        word = words[page, cycle // WORD] >> np.uint64(cycle % WORD)
    return cycle + 1 + lowest(word) if word else _later(words, page, cycle // WORD + 1)


@njit(cache=True)
def _later(words, page, first):  # type: ignore[no-untyped-def]
    for i in range(first, words.shape[1]):
        if words[page, i]:
            return i * WORD + 1 + lowest(words[page, i])
    return NEVER


@njit(cache=True, inline="always")
def changed(words, contents, page, last, now):  # type: ignore[no-untyped-def]
    """Would a visit in cycle `now` show a change since one in cycle `last`?"""
    if contents.size:
        differs = contents[page, last] != contents[page, now]
    elif now <= WORD:  # the bits of cycles after `last` up to `now`, alone
        word = words[page, 0] >> np.uint64(last)
        differs = (word << np.uint64(WORD - now + last)) != 0
    else:
        differs = next_change(words, page, last) <= now
    return differs


@njit(cache=True, inline="always")
def visited(words, contents, page, last, now, turning):  # type: ignore[no-untyped-def]
    """Note in `turning`, by cycle, how a visit that showed a change moves the count of stale pages.

    `turning[c]` is what the count gains in cycle c if nothing else is visited.
    """
    if contents.size:
        _came_and_went(contents, page, last, now, turning)
    else:
        after = next_change(words, page, now)
        if after < len(turning):
            turning[after] += 1


@njit(cache=True)
def _came_and_went(contents, page, last, now, turning):  # type: ignore[no-untyped-def]
    before = -1
    for cycle in range(now + 1, contents.shape[1]):
        fresh_copy = contents[page, cycle] != contents[page, now]
        old_copy = contents[page, cycle] != contents[page, last]
        turning[cycle] += int(fresh_copy) - int(old_copy) - before
        before = int(fresh_copy) - int(old_copy)
