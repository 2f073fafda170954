"""Word counts of texts without a vocabulary: words are hashed into buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc
from scipy.sparse import csr_matrix, vstack

from recrawl.page.kernels import kernel
from recrawl.page.word_hashes import byte_groups, letter_table, next_word, utf8_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray

SHIFT = np.uint64(44)  #: hash of a word → its bucket
N_BUCKETS = 2**20  #: two words in the same bucket count as one word
BATCH_TEXTS = 1_000  #: texts read at a time, so that memory does not grow with their number


def document_counts(texts: pa.Array, characters: int) -> IntArray:
    """The number of texts that hold each bucket. Reads the first `characters` of each text."""
    documents = np.zeros(N_BUCKETS, np.int64)
    for counts in _counts(texts, np.arange(N_BUCKETS), N_BUCKETS, characters):
        np.add.at(documents, counts.indices, 1)
    return documents


def count_words(texts: pa.Array, characters: int) -> tuple[FloatArray, FloatArray]:
    """The number of words of each text, and of its distinct words."""
    words, distinct = [np.empty(0)], [np.empty(0)]
    for counts in _counts(texts, np.arange(N_BUCKETS), N_BUCKETS, characters):
        words.append(np.asarray(counts.sum(axis=1)).ravel())
        distinct.append(np.diff(counts.indptr))
    return np.concatenate(words), np.concatenate(distinct)


def term_counts(texts: pa.Array, column: IntArray, columns: int, characters: int) -> csr_matrix:
    """How often each text (row) holds the word of each column.

    `column` maps a bucket to its column, or to -1.
    """
    empty = csr_matrix((0, columns), dtype=np.float32)
    parts = [empty, *_counts(texts, column, columns, characters)]
    return vstack(parts, format="csr", dtype=np.float32)


def _counts(
    texts: pa.Array, column: IntArray, columns: int, characters: int
) -> Iterator[csr_matrix]:
    """The term counts of BATCH_TEXTS texts at a time."""
    seen = np.zeros(columns, np.float32)
    for data, start in _batches(texts, characters):
        most = (len(data) + 1) // 2 + len(start)  # a word takes at least a letter and a space
        end = np.zeros(len(start), np.int64)
        which, often = np.empty(most, np.int32), np.empty(most, np.float32)
        content = data, byte_groups(data), start
        _count_terms(*content, letter_table(), column, seen, end, which, often)
        shape = (len(start) - 1, columns)
        yield csr_matrix((often[: end[-1]].copy(), which[: end[-1]].copy(), end), shape)


def _batches(texts: pa.Array, characters: int) -> Iterator[tuple[NDArray[np.uint8], IntArray]]:
    """The texts as bytes, and where each begins."""
    for begin in range(0, len(texts), BATCH_TEXTS):
        yield utf8_bytes(pc.utf8_slice_codeunits(texts.slice(begin, BATCH_TEXTS), 0, characters))


@kernel
def _count_terms(data, groups, start, letters, column, seen, end, which, often):  # type: ignore[no-untyped-def]
    place = 0
    for text in range(len(start) - 1):
        at, begin = start[text], place
        while True:
            word, at = next_word(data, groups, at, start[text + 1], letters)
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
