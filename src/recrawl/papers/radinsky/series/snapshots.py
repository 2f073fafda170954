"""What did each page say on each day? Word counts, each different copy of a page once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from recrawl.errors import BadInput
from recrawl.page.word_buckets import BUCKETS, document_counts, term_counts

if TYPE_CHECKING:
    import pyarrow as pa

    from recrawl.model import FloatArray, IntArray

MOST_WORDS = 20_000  #: of the vocabulary: those in most copies
CHARACTERS = 200_000  #: of a text that are read


@dataclass(frozen=True)
class Snapshots:
    """Page p said on day d what row `copy[p, d]` of `counts` holds; -1 where that is not known."""

    counts: Any  #: SciPy CSR, a row a copy, a column a word
    copy: IntArray

    @property
    def pages(self) -> int:
        return len(self.copy)

    @property
    def days(self) -> int:
        return int(self.copy.shape[1])

    def until(self, day: int) -> Snapshots:
        """What was known after so many days."""
        return replace(self, copy=self.copy[:, :day])

    def last(self) -> IntArray:
        """The last copy of each page; -1 where there is none."""
        seen = self.copy >= 0
        at = self.days - 1 - np.argmax(seen[:, ::-1], axis=1)
        return np.where(seen.any(axis=1), self.copy[np.arange(self.pages), at], -1)

    def idf(self) -> FloatArray:
        """ln(pages / pages that have the word in their last copy); 0 for words on none."""
        last = self.last()
        held = self.counts[last[last >= 0]]
        pages = np.bincount(held.indices, minlength=self.counts.shape[1])
        found: FloatArray = np.log(max(self.pages, 1) / np.maximum(pages, 1))
        return np.where(pages > 0, found, 0.0)

    def distributions(self) -> Any:
        """The copies as shares of their words."""
        return shares(self.counts)


def vocabulary(
    texts: pa.Array, *, most: int = MOST_WORDS, characters: int = CHARACTERS
) -> IntArray:
    """Of each bucket of words its column; -1 for all but the `most` that most texts hold."""
    if most < 1:
        raise BadInput(f"words, the size of the vocabulary, must be 1 or more. Got {most}.")
    held = document_counts(texts, characters)
    words = np.argsort(-held, kind="stable")[: min(most, int((held > 0).sum()))]
    column = np.full(BUCKETS, -1)
    column[words] = np.arange(len(words))
    return column


def counted(
    texts: pa.Array,
    column: IntArray | None = None,
    *,
    most: int = MOST_WORDS,
    characters: int = CHARACTERS,
) -> Any:
    """Word counts of texts, a row each; the columns are those of a vocabulary, or of their own."""
    if column is None:
        column = vocabulary(texts, most=most, characters=characters)
    table = term_counts(texts, column, max(int(column.max()) + 1, 1), characters)
    table = table.astype(np.float64)
    table.sort_indices()
    return table


def shares(counts: Any) -> Any:
    """Counts as shares of their row; an empty row has none."""
    totals = np.repeat(np.asarray(counts.sum(axis=1)).ravel(), np.diff(counts.indptr))
    return csr_matrix((counts.data / totals, counts.indices, counts.indptr), shape=counts.shape)
