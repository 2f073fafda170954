"""Which terms does a text hold, and how often? Hashes of words, counted without making words.

A term is a word in lower case, known by its hash. One pass over the UTF-8 bytes of many texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.model import IntArray, KeyArray

PLANE = 0x10000  #: characters with a table of their own; of those above, ideographs are letters
ODD, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@dataclass(frozen=True)
class Counts:
    """How often each text holds which terms of a vocabulary: text i owns start[i] to start[i + 1].

    Terms are numbers in the vocabulary, ascending within a text.
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
    data, offsets = _bytes(texts)
    start = np.zeros(len(offsets), np.int64)
    _hash(data, offsets, _letters(), start, np.empty(0, np.uint64))
    found = np.empty(int(start[-1]), np.uint64)
    _hash(data, offsets, _letters(), start, found)
    return start, found


def counted(texts: pa.Array | Sequence[str], vocabulary: KeyArray) -> Counts:
    """The terms of a vocabulary, sorted hashes, in each text."""
    data, offsets = _bytes(texts)
    length = np.zeros(len(offsets) - 1, np.int64)
    table = _table(vocabulary)
    start, term, count = _count(data, offsets, _letters(), table, len(vocabulary), length)
    return Counts(start, term, count, length)


def _bytes(texts: pa.Array | Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All texts as one run of bytes, and where each begins; nulls are empty."""
    column = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    column = column.cast(pa.large_string()).fill_null("")
    _, offsets, data = column.buffers()
    place = np.zeros(1, np.int64)
    if len(column):
        place = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    whole = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return whole, place


@cache
def _letters() -> NDArray[np.int32]:
    """For each character its lower case; 0 for what is neither letter nor digit."""
    table = np.zeros(PLANE, np.int32)
    for code in range(PLANE):
        if chr(code).isalnum():
            small = chr(code).lower()
            table[code] = ord(small) if len(small) == 1 else code
    return table


def _table(vocabulary: KeyArray) -> tuple[KeyArray, NDArray[np.int32]]:
    """An open hash table of terms, at most half full."""
    size = 1 << max(int(2 * len(vocabulary) + 1).bit_length(), 4)
    keys, places = np.zeros(size, np.uint64), np.full(size, -1, np.int32)
    _enter(vocabulary, keys, places)
    return keys, places


@njit(cache=True)
def _enter(vocabulary, keys, places):  # type: ignore[no-untyped-def]
    last = np.uint64(len(keys) - 1)
    for number in range(len(vocabulary)):
        slot = vocabulary[number] & last
        while places[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        keys[slot], places[slot] = vocabulary[number], number


@njit(cache=True, nogil=True, inline="always")
def _word(data, at, end, letters):  # type: ignore[no-untyped-def]
    """The hash of the next word from `at` on, 0 if there is none, and where to go on."""
    found, inside = ODD, False
    while at < end:
        code, step = np.uint32(data[at]), 1
        if code < 0x80:
            small = np.uint64(letters[code])
        else:  # Arrow keeps nothing but right UTF-8
            step = 2 if code < 0xE0 else (3 if code < 0xF0 else 4)
            code = code & np.uint32(0xFF >> (step + 1))
            for i in range(1, step):
                code = (code << np.uint32(6)) | (np.uint32(data[at + i]) & np.uint32(0x3F))
            small = np.uint64(letters[code] if code < PLANE else (code if code >= 0x20000 else 0))
        if small:
            inside = True
            found = (found ^ small) * PRIME
        elif inside:
            break
        at += step
    if not inside:
        return np.uint64(0), at
    found ^= found >> np.uint64(32)
    return found | np.uint64(found == 0), at


@njit(cache=True, nogil=True)
def _hash(data, offsets, letters, start, found):  # type: ignore[no-untyped-def]
    """Count the words of each text into `start`; write their hashes where there is room."""
    n = 0
    for text in range(len(offsets) - 1):
        at, end = offsets[text], offsets[text + 1]
        while True:
            word, at = _word(data, at, end, letters)
            if not word:
                break
            if len(found):
                found[n] = word
            n += 1
        start[text + 1] = n


@njit(cache=True, nogil=True)
def _count(data, offsets, letters, table, size, length):  # type: ignore[no-untyped-def]
    keys, places = table
    last = np.uint64(len(keys) - 1)
    seen = np.zeros(size, np.int32)
    touched = np.empty(size, np.int32)
    start = np.zeros(len(offsets), np.int64)
    terms, counts = np.empty(1024, np.int32), np.empty(1024, np.int32)
    for text in range(len(offsets) - 1):
        at, end, many = offsets[text], offsets[text + 1], 0
        while True:
            word, at = _word(data, at, end, letters)
            if not word:
                break
            length[text] += 1
            slot = word & last
            while places[slot] >= 0 and keys[slot] != word:
                slot = (slot + np.uint64(1)) & last
            term = places[slot]
            if term >= 0:
                if not seen[term]:
                    touched[many] = term
                    many += 1
                seen[term] += 1
        begin = start[text]
        if begin + many > len(terms):
            room = max(2 * len(terms), begin + many)
            more_terms, more_counts = np.empty(room, np.int32), np.empty(room, np.int32)
            more_terms[:begin], more_counts[:begin] = terms[:begin], counts[:begin]
            terms, counts = more_terms, more_counts
        held = np.sort(touched[:many])
        for i in range(many):
            terms[begin + i], counts[begin + i] = held[i], seen[held[i]]
            seen[held[i]] = 0
        start[text + 1] = begin + many
    return start, terms[: start[-1]].copy(), counts[: start[-1]].copy()
