"""How often does each page say each word? Words are numbers: hashes of their letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from scipy.sparse import csr_matrix, vstack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray

BUCKETS = 2**20  #: hashes of words; two words in one bucket are one word
BATCH = 1_000  #: pages read at a time, so that memory does not grow with their number


def document_counts(texts: pa.Array, characters: int) -> IntArray:
    """How many texts hold each bucket, the first `characters` of each read."""
    counts = np.zeros(BUCKETS, np.int64)
    last = np.full(BUCKETS, -1, np.int64)
    first = 0
    for data, start in _batches(texts, characters):
        _count_texts(data, start, first, last, counts)
        first += len(start) - 1
    return counts


def richness(texts: pa.Array, characters: int) -> tuple[FloatArray, FloatArray]:
    """How many words each text has, and how many distinct ones."""
    found = np.zeros((len(texts), 2))
    last = np.full(BUCKETS, -1, np.int64)
    first = 0
    for data, start in _batches(texts, characters):
        _count_words(data, start, first, last, found)
        first += len(start) - 1
    return found[:, 0], found[:, 1]


def term_counts(texts: pa.Array, column: IntArray, columns: int, characters: int) -> csr_matrix:
    """How often each text holds the word of each column; `column` says which a bucket is."""
    found = [csr_matrix((0, columns), dtype=np.float32)]
    seen = np.zeros(columns, np.float32)
    for data, start in _batches(texts, characters):
        most = (len(data) + 1) // 2 + len(start)  # a word takes a letter and a space
        end = np.zeros(len(start), np.int64)
        which, often = np.empty(most, np.int32), np.empty(most, np.float32)
        _count_terms(data, start, column, seen, end, which, often)
        shape = (len(start) - 1, columns)
        found.append(csr_matrix((often[: end[-1]].copy(), which[: end[-1]].copy(), end), shape))
    return vstack(found, format="csr", dtype=np.float32)


def _batches(texts: pa.Array, characters: int) -> Iterator[tuple[NDArray[np.uint8], IntArray]]:
    """The texts in lower case: bytes, and where each begins."""
    for begin in range(0, len(texts), BATCH):
        part = texts.slice(begin, BATCH).fill_null("")
        part = pc.utf8_lower(pc.utf8_slice_codeunits(part, 0, characters)).cast(pa.large_string())
        _, offsets, data = part.buffers()
        start = np.frombuffer(offsets, np.int64)[part.offset : part.offset + len(part) + 1]
        whole = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
        yield whole[start[0] : start[-1]], start - start[0]


@njit(cache=True)
def _word(data, at, end):  # type: ignore[no-untyped-def]
    """The hash of the next word and where it ends; (-1, end) where there is none.

    Letters and digits make words; each Chinese, Japanese or Korean letter is one by itself, as
    these are written without spaces.
    """
    key, length = np.uint64(0), 0
    while at < end:
        byte, size = data[at], 1
        if byte >= 0xE0:
            size = 3 if byte < 0xF0 else 4
        elif byte >= 0xC0:
            size = 2
        inside = 48 <= byte <= 57 or 97 <= byte <= 122
        alone = 0xE3 <= byte <= 0xED
        if byte >= 0x80 and at + 1 < end:  # not the marks of Latin-1, U+2000 and U+3000
            second = data[at + 1]
            mark = byte == 0xC2 or (byte == 0xE2 and second <= 0x81)
            inside = not mark and not (byte == 0xE3 and second == 0x80)
        if length and (alone or not inside):
            break
        if inside:
            for i in range(at, min(at + size, end)):
                key = (key ^ np.uint64(data[i])) * np.uint64(0x9E3779B97F4A7C15)
                key ^= key >> np.uint64(29)
            length += 1
        at += size
        if inside and alone:
            break
    if not length:
        return -1, end
    return np.int64(key >> np.uint64(44)), at


@njit(cache=True)
def _count_texts(data, start, first, last, counts):  # type: ignore[no-untyped-def]
    for text in range(len(start) - 1):
        at = start[text]
        while True:
            word, at = _word(data, at, start[text + 1])
            if word < 0:
                break
            if last[word] != first + text:
                last[word] = first + text
                counts[word] += 1


@njit(cache=True)
def _count_words(data, start, first, last, found):  # type: ignore[no-untyped-def]
    for text in range(len(start) - 1):
        at = start[text]
        while True:
            word, at = _word(data, at, start[text + 1])
            if word < 0:
                break
            found[first + text, 0] += 1
            if last[word] != first + text:
                last[word] = first + text
                found[first + text, 1] += 1


@njit(cache=True)
def _count_terms(data, start, column, seen, end, which, often):  # type: ignore[no-untyped-def]
    place = 0
    for text in range(len(start) - 1):
        at, begin = start[text], place
        while True:
            word, at = _word(data, at, start[text + 1])
            if word < 0:
                break
            term = column[word]
            if term >= 0:
                if seen[term] == 0:
                    which[place] = term
                    place += 1
                seen[term] += 1
        for i in range(begin, place):
            often[i] = seen[which[i]]
            seen[which[i]] = 0
        end[text + 1] = place
