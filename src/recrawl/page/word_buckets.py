"""How often does each page say each word, where no vocabulary is known? Words are buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
from scipy.sparse import csr_matrix, vstack

from recrawl.page.kernels import kernel
from recrawl.page.word_hashes import bytes_of, letters, next_word

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray

SHIFT = np.uint64(44)
BUCKETS = 2**20  #: hashes of words; two words in one bucket are one word
BATCH = 1_000  #: pages read at a time, so that memory does not grow with their number


def document_counts(texts: pa.Array, characters: int) -> IntArray:
    """How many texts hold each bucket, the first `characters` of each read."""
    counts = np.zeros(BUCKETS, np.int64)
    last = np.full(BUCKETS, -1, np.int64)
    first = 0
    for data, start in _batches(texts, characters):
        _count_texts(data, start, letters(), first, last, counts)
        first += len(start) - 1
    return counts


def richness(texts: pa.Array, characters: int) -> tuple[FloatArray, FloatArray]:
    """How many words each text has, and how many distinct ones."""
    found = np.zeros((len(texts), 2))
    last = np.full(BUCKETS, -1, np.int64)
    first = 0
    for data, start in _batches(texts, characters):
        _count_words(data, start, letters(), first, last, found)
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
        _count_terms(data, start, letters(), column, seen, end, which, often)
        shape = (len(start) - 1, columns)
        found.append(csr_matrix((often[: end[-1]].copy(), which[: end[-1]].copy(), end), shape))
    return vstack(found, format="csr", dtype=np.float32)


def _batches(texts: pa.Array, characters: int) -> Iterator[tuple[NDArray[np.uint8], IntArray]]:
    """Texts as bytes, and where each begins."""
    for begin in range(0, len(texts), BATCH):
        yield bytes_of(pc.utf8_slice_codeunits(texts.slice(begin, BATCH), 0, characters))


@kernel
def _count_texts(data, start, letters, first, last, counts):  # type: ignore[no-untyped-def]
    for text in range(len(start) - 1):
        at = start[text]
        while True:
            word, at = next_word(data, at, start[text + 1], letters)
            if not word:
                break
            bucket = word >> SHIFT
            if last[bucket] != first + text:
                last[bucket] = first + text
                counts[bucket] += 1


@kernel
def _count_words(data, start, letters, first, last, found):  # type: ignore[no-untyped-def]
    for text in range(len(start) - 1):
        at = start[text]
        while True:
            word, at = next_word(data, at, start[text + 1], letters)
            if not word:
                break
            bucket = word >> SHIFT
            found[first + text, 0] += 1
            if last[bucket] != first + text:
                last[bucket] = first + text
                found[first + text, 1] += 1


@kernel
def _count_terms(data, start, letters, column, seen, end, which, often):  # type: ignore[no-untyped-def]
    place = 0
    for text in range(len(start) - 1):
        at, begin = start[text], place
        while True:
            word, at = next_word(data, at, start[text + 1], letters)
            if not word:
                break
            bucket = word >> SHIFT
            term = column[bucket]
            if term >= 0:
                if seen[term] == 0:
                    which[place] = term
                    place += 1
                seen[term] += 1
        for i in range(begin, place):
            often[i] = seen[which[i]]
            seen[which[i]] = 0
        end[text + 1] = place
