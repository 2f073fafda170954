"""Which terms does a text hold, and how often? In one pass over the bytes of many texts.

A term is a word, known by its hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.page.kernels import kernel
from recrawl.page.word_hashes import bytes_of, letters, next_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from recrawl.model import IntArray, KeyArray

NUMBER = np.uint64(2**24 - 1)  #: bits of a table's entry that say which term it is; the rest, who


@dataclass(frozen=True)
class Counts:
    """How often each text holds which terms of a vocabulary: text i owns start[i] to start[i + 1].

    Terms are numbers in the vocabulary, each once a text.
    """

    start: NDArray[np.int64]
    term: NDArray[np.int32]
    count: NDArray[np.int32]
    length: NDArray[np.int64]  #: words of each text, whatever they are

    def texts(self) -> IntArray:
        """The text that holds each term."""
        return np.repeat(np.arange(len(self.length)), np.diff(self.start))

    def places(self, rows: IntArray) -> IntArray:
        """Where the terms of some texts are, text by text."""
        counts = np.diff(self.start)[rows]
        first = np.repeat(self.start[rows] - np.cumsum(counts) + counts, counts)
        return first + np.arange(len(first))

    def take(self, rows: IntArray) -> Counts:
        """The same of some texts, in the order given."""
        at = self.places(rows)
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[rows])])
        return Counts(start, self.term[at], self.count[at], self.length[rows])


def hashes(texts: pa.Array | Sequence[str]) -> tuple[NDArray[np.int64], KeyArray]:
    """Where the words of each text begin, and the hash of every word."""
    data, offsets = bytes_of(texts)
    start = np.zeros(len(offsets), np.int64)
    _hash(data, offsets, letters(), start, np.empty(0, np.uint64))
    found = np.empty(int(start[-1]), np.uint64)
    _hash(data, offsets, letters(), start, found)
    return start, found


def counted(texts: pa.Array | Sequence[str], vocabulary: KeyArray) -> Counts:
    """The terms of a vocabulary, sorted hashes, in each text."""
    data, offsets = bytes_of(texts)
    start, length = np.zeros(len(offsets), np.int64), np.zeros(len(offsets) - 1, np.int64)
    most = int(np.minimum((np.diff(offsets) + 1) // 2, len(vocabulary)).sum())  # letter and space
    term, count = np.empty((2, most), np.int32)  # most of it is never touched
    seen = np.zeros(len(vocabulary) + 1, np.int32)
    _count(data, offsets, letters(), _table(vocabulary), seen, start, length, term, count)
    return Counts(start, term[: start[-1]].copy(), count[: start[-1]].copy(), length)


def _table(vocabulary: KeyArray) -> KeyArray:
    """An open hash table of terms, at most a quarter full."""
    if len(vocabulary) >= NUMBER:
        raise BadInput(
            f"A workload must have fewer than {NUMBER:,} terms. Got {len(vocabulary):,}; "
            "leave out queries that are asked seldom."
        )
    table = np.zeros(1 << max((4 * len(vocabulary)).bit_length(), 4), np.uint64)
    _enter(vocabulary, table)
    return table


@kernel
def _enter(vocabulary, table):  # type: ignore[no-untyped-def]
    last = np.uint64(len(table) - 1)
    for number in range(len(vocabulary)):
        slot = vocabulary[number] & last
        while table[slot]:
            slot = (slot + np.uint64(1)) & last
        table[slot] = (vocabulary[number] & ~NUMBER) | np.uint64(number + 1)


@kernel
def _hash(data, offsets, table, start, found):  # type: ignore[no-untyped-def]
    """Count the words of each text into `start`; write their hashes where there is room."""
    n = 0
    for text in range(len(offsets) - 1):
        at, end = offsets[text], offsets[text + 1]
        while True:
            word, at = next_word(data, at, end, table)
            if not word:
                break
            if len(found):
                found[n] = word
            n += 1
        start[text + 1] = n


@kernel
def _count(data, offsets, letters, table, seen, start, length, terms, counts):  # type: ignore[no-untyped-def]
    """`seen` is of zeros, the first for words that are not terms."""
    last, begin = np.uint64(len(table) - 1), 0
    for text in range(len(offsets) - 1):
        at, end, words, stop = offsets[text], offsets[text + 1], 0, begin
        while True:
            word, at = next_word(data, at, end, letters)
            if not word:
                break
            words += 1
            slot = word & last
            found = table[slot]
            while found and (found ^ word) > NUMBER:
                slot = (slot + np.uint64(1)) & last
                found = table[slot]
            term = np.int64(found & NUMBER)
            if not seen[term] and term:
                terms[stop] = term - 1
                stop += 1
            seen[term] += 1
        for i in range(begin, stop):
            counts[i] = seen[terms[i] + 1]
            seen[terms[i] + 1] = 0
        length[text] = words
        start[text + 1] = begin = stop
