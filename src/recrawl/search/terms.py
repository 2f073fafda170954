"""Which terms does each text hold, and how often? One pass over the bytes; a term is a hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.page.kernels import kernel
from recrawl.page.word_hashes import byte_groups, letter_table, next_word, utf8_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from recrawl.model import IntArray, KeyArray

#: Low bits of a table entry: 1 + the number of the term. The high bits are those of its hash.
NUMBER = np.uint64(2**24 - 1)


@dataclass(frozen=True)
class TermCounts:
    """Counts of vocabulary terms by text: text i owns the entries start[i] to start[i + 1].

    `term` holds numbers in the vocabulary, each at most once in a text.
    """

    start: NDArray[np.int64]
    term: NDArray[np.int32]
    count: NDArray[np.int32]
    length: NDArray[np.int64]  #: words of each text, in the vocabulary or not

    def texts(self) -> IntArray:
        """The row of the text that each entry belongs to."""
        return np.repeat(np.arange(len(self.length)), np.diff(self.start))

    def entries(self, rows: IntArray) -> IntArray:
        """Positions of the entries of some texts, text by text."""
        counts = np.diff(self.start)[rows]
        first = np.repeat(self.start[rows] - np.cumsum(counts) + counts, counts)
        return first + np.arange(len(first))

    def take(self, rows: IntArray) -> TermCounts:
        """The counts of some texts, in the order given."""
        at = self.entries(rows)
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[rows])])
        return TermCounts(start, self.term[at], self.count[at], self.length[rows])


def word_hashes(texts: pa.Array | Sequence[str]) -> tuple[NDArray[np.int64], KeyArray]:
    """The hash of every word, and where the words of each text begin."""
    data, offsets = utf8_bytes(texts)
    start = np.zeros(len(offsets), np.int64)
    groups, letters = byte_groups(data), letter_table()
    _hash(data, groups, offsets, letters, start, np.empty(0, np.uint64))
    hashes = np.empty(int(start[-1]), np.uint64)
    _hash(data, groups, offsets, letters, start, hashes)
    return start, hashes


def count_terms(texts: pa.Array | Sequence[str], vocabulary: KeyArray) -> TermCounts:
    """Count the terms of a vocabulary, given as sorted hashes, in each text."""
    data, offsets = utf8_bytes(texts)
    start, length = np.zeros(len(offsets), np.int64), np.zeros(len(offsets) - 1, np.int64)
    # A word takes at least a letter and a space. Most of this memory is never touched.
    most = int(np.minimum((np.diff(offsets) + 1) // 2, len(vocabulary)).sum())
    term, count = np.empty((2, most), np.int32)
    seen = np.zeros(len(vocabulary) + 1, np.int32)
    content, table = (data, byte_groups(data), offsets), _table(vocabulary)
    _count(*content, letter_table(), table, seen, start, length, term, count)
    return TermCounts(start, term[: start[-1]].copy(), count[: start[-1]].copy(), length)


def _table(vocabulary: KeyArray) -> KeyArray:
    """Hash table of the terms with open addressing, at most a quarter full."""
    if len(vocabulary) >= NUMBER:
        raise BadInput(
            f"A workload must have fewer than {NUMBER:,} terms. Got {len(vocabulary):,}; "
            "leave out rare queries."
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
def _hash(data, groups, offsets, letters, start, hashes):  # type: ignore[no-untyped-def]
    """Count the words of each text into `start`; write their hashes if `hashes` has room."""
    n = 0
    for text in range(len(offsets) - 1):
        at, end = offsets[text], offsets[text + 1]
        while True:
            word, at = next_word(data, groups, at, end, letters)
            if not word:
                break
            if len(hashes):
                hashes[n] = word
            n += 1
        start[text + 1] = n


@kernel
def _count(data, groups, offsets, letters, table, seen, start, length, terms, counts):  # type: ignore[no-untyped-def]
    """`seen` comes filled with zeros; its first entry is for words that are not terms."""
    last, begin = np.uint64(len(table) - 1), 0
    for text in range(len(offsets) - 1):
        at, end, words, stop = offsets[text], offsets[text + 1], 0, begin
        while True:
            word, at = next_word(data, groups, at, end, letters)
            if not word:
                break
            words += 1
            slot = word & last
            cell = table[slot]
            while cell and (cell ^ word) > NUMBER:
                slot = (slot + np.uint64(1)) & last
                cell = table[slot]
            term = np.int64(cell & NUMBER)
            if not seen[term] and term:
                terms[stop] = term - 1
                stop += 1
            seen[term] += 1
        for i in range(begin, stop):
            counts[i] = seen[terms[i] + 1]
            seen[terms[i] + 1] = 0
        length[text] = words
        start[text + 1] = begin = stop
