"""In which cycles did each page change? The truth that a simulation runs on, one bit each."""

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
NO_CHANGE = 2**30  #: a cycle beyond all others
_DEBRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACE = np.zeros(64, np.int64)
for _bit in range(64):
    _PLACE[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit


def _no_contents() -> NDArray[np.uint16]:
    return np.empty((0, 0), np.uint16)


@dataclass(frozen=True)
class ChangeHistory:
    """Changes of pages in cycles 1, 2, …; cycle 0 took the first copies.

    Bit c − 1 of a page's words says that it changed between cycles c − 1 and c. If pages return to
    earlier contents, `contents` numbers what each page said in cycles 0, 1, …. A visit then
    compares contents, and misses what came and went between two visits.
    """

    words: KeyArray  #: one row per page
    cycles: int
    key: KeyArray  #: identifies each page, for ties
    contents: NDArray[np.uint16] = field(default_factory=_no_contents)
    cycle_days: float = 1.0

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: IntArray | BoolArray) -> ChangeHistory:
        """The history of some pages."""
        kept = self.contents[rows] if self.contents.size else self.contents
        return replace(self, words=self.words[rows], key=self.key[rows], contents=kept)


def from_bits(
    bits: BoolArray, key: KeyArray | None = None, *, cycle_days: float = 1.0
) -> ChangeHistory:
    """From one row per page and one column per cycle, starting with cycle 1."""
    if bits.ndim != 2 or 0 in bits.shape:
        raise BadInput(
            f"bits must be one row per page and one column per cycle. Got shape {bits.shape}."
        )
    pages, cycles = bits.shape
    width = -(-cycles // WORD)
    packed = np.zeros((pages, width * 8), np.uint8)
    packed[:, : -(-cycles // 8)] = np.packbits(bits.astype(np.bool_), axis=1, bitorder="little")
    names = np.arange(pages, dtype=np.uint64) if key is None else key
    return ChangeHistory(packed.view("<u8").astype(np.uint64), cycles, names, cycle_days=cycle_days)


def from_contents(
    contents: NDArray[np.uint16], key: KeyArray | None = None, *, cycle_days: float = 1.0
) -> ChangeHistory:
    """From the number of each page's content in cycles 0, 1, …."""
    differs = contents[:, 1:] != contents[:, :-1]
    history = from_bits(differs, key, cycle_days=cycle_days)
    ordered = np.sort(contents, axis=1)
    distinct = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
    returns = distinct < differs.sum(axis=1)
    return replace(history, contents=contents) if returns.any() else history


@njit(cache=True)
def lowest(word):  # type: ignore[no-untyped-def]
    """The position of the lowest bit that is set."""
    alone = word & (~word + np.uint64(1))
    return _PLACE[(alone * _DEBRUIJN) >> np.uint64(58)]


# Inlined, because they run once a page and cycle and cost less than a call.
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
    return NO_CHANGE


@njit(cache=True, inline="always")
def changed(words, contents, page, last, now):  # type: ignore[no-untyped-def]
    """Whether a visit in cycle `now` shows a change since a visit in cycle `last`."""
    if contents.size:
        differs = contents[page, last] != contents[page, now]
    elif now <= WORD:  # only the bits of cycles after `last` up to `now`
        word = words[page, 0] >> np.uint64(last)
        differs = (word << np.uint64(WORD - now + last)) != 0
    else:
        differs = next_change(words, page, last) <= now
    return differs


@njit(cache=True, inline="always")
def update_turning(words, contents, page, last, now, turning):  # type: ignore[no-untyped-def]
    """Update `turning` for a visit that showed a change.

    `turning[c]` is the rise of the number of stale copies in cycle c if no page is visited again.
    """
    if contents.size:
        _update_by_content(contents, page, last, now, turning)
    else:
        after = next_change(words, page, now)
        if after < len(turning):
            turning[after] += 1


@njit(cache=True)
def _update_by_content(contents, page, last, now, turning):  # type: ignore[no-untyped-def]
    before = -1
    for cycle in range(now + 1, contents.shape[1]):
        fresh_copy = contents[page, cycle] != contents[page, now]
        old_copy = contents[page, cycle] != contents[page, last]
        turning[cycle] += int(fresh_copy) - int(old_copy) - before
        before = int(fresh_copy) - int(old_copy)
