"""Word counts of pages by day; each distinct copy of a page is counted once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from recrawl.errors import BadInput
from recrawl.page.word_buckets import N_BUCKETS, document_counts, term_counts

if TYPE_CHECKING:
    import pyarrow as pa

    from recrawl.model import FloatArray, IntArray

VOCABULARY_SIZE = 20_000  #: words kept: those in most copies
MAX_CHARACTERS = 200_000  #: characters read of each text


@dataclass(frozen=True)
class Snapshots:
    """On day d, page p has the words of row `copy[p, d]` of `counts`; -1 where unknown."""

    counts: Any  #: SciPy CSR; one row per copy, one column per word
    copy: IntArray

    @property
    def pages(self) -> int:
        return len(self.copy)

    @property
    def days(self) -> int:
        return int(self.copy.shape[1])

    def last(self) -> IntArray:
        """Row of `counts` of the last copy of each page; -1 where there is none."""
        known = self.copy >= 0
        day = self.days - 1 - np.argmax(known[:, ::-1], axis=1)
        return np.where(known.any(axis=1), self.copy[np.arange(self.pages), day], -1)

    def idf(self) -> FloatArray:
        """ln(pages / pages whose last copy has the word); 0 for words in no last copy."""
        last = self.last()
        held = self.counts[last[last >= 0]]
        pages = np.bincount(held.indices, minlength=self.counts.shape[1])
        idf: FloatArray = np.log(max(self.pages, 1) / np.maximum(pages, 1))
        return np.where(pages > 0, idf, 0.0)


def vocabulary(
    texts: pa.Array, *, size: int = VOCABULARY_SIZE, characters: int = MAX_CHARACTERS
) -> IntArray:
    """Column of each bucket of words; -1 for all but the `size` words that most texts contain."""
    return most_frequent(document_counts(texts, characters), size)


def most_frequent(document_frequency: IntArray, size: int) -> IntArray:
    """The vocabulary of the `size` buckets with the highest document frequency."""
    if size < 1:
        raise BadInput(f"words, the size of the vocabulary, must be 1 or more. Got {size}.")
    n_words = min(size, int((document_frequency > 0).sum()))
    words = np.argsort(-document_frequency, kind="stable")[:n_words]
    column = np.full(N_BUCKETS, -1)
    column[words] = np.arange(len(words))
    return column


def count_words(texts: pa.Array, column: IntArray, *, characters: int = MAX_CHARACTERS) -> Any:
    """Word counts (SciPy CSR): one row per text, columns as in the vocabulary `column`."""
    table = term_counts(texts, column, max(int(column.max()) + 1, 1), characters)
    table = table.astype(np.float64)
    table.sort_indices()
    return table


def word_shares(counts: Any) -> Any:
    """Unigram distribution of each row: counts divided by the sum of the row (§4.2.1, f2)."""
    totals = np.repeat(np.asarray(counts.sum(axis=1)).ravel(), np.diff(counts.indptr))
    return csr_matrix((counts.data / totals, counts.indices, counts.indptr), shape=counts.shape)
