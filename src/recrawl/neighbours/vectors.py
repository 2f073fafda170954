"""What is each page about? Unit vectors of its words, near for pages that say alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from recrawl.errors import BadInput
from recrawl.neighbours.svd import right_singular_vectors
from recrawl.page.word_buckets import BUCKETS, document_counts, term_counts

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

    from recrawl.model import IntArray

SAMPLE = 20_000  #: texts that the words and directions are learned from; more change little
_LEAST = 2  # texts that must hold a word: one alone is near to nothing by it


@dataclass(kw_only=True)
class Vectors:
    """TF-IDF of the commonest words, reduced by a randomised SVD (latent semantic analysis).

    Only the first `characters` of a text are read. Once fitted, new texts are embedded in the same
    space, so a changed page needs no new fit.
    """

    dims: int = 192
    terms: int = 15_000
    characters: int = 20_000
    seed: int = 0
    column_: IntArray = field(default_factory=lambda: np.full(BUCKETS, -1), init=False, repr=False)
    weight_: NDArray[np.float32] = field(init=False, repr=False)  #: of words: rare ones count more
    directions_: NDArray[np.float32] = field(init=False, repr=False)  #: terms × dims

    def fit(self, texts: pa.Array) -> Self:
        """Learn words and directions from texts, or a sample of them; null says nothing."""
        for name in ("dims", "terms", "characters"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1. Got {getattr(self, name)}.")
        texts = texts.drop_null()
        if len(texts) > SAMPLE:
            random = np.random.default_rng(self.seed)
            texts = texts.take(np.sort(random.choice(len(texts), SAMPLE, replace=False)))
        held = document_counts(texts, self.characters)
        words = np.argsort(-held, kind="stable")[: self.terms]
        words = words[held[words] >= _LEAST]
        self.column_ = np.full(BUCKETS, -1)
        self.column_[words] = np.arange(len(words))
        self.weight_ = (np.log((1.0 + len(texts)) / (1.0 + held[words])) + 1.0).astype(np.float32)
        self.directions_ = self._directions(self._weighted(texts))
        return self

    def embed(self, texts: pa.Array) -> NDArray[np.float32]:
        """A row a text, `dims` wide; all zero where it is null, empty or of unknown words."""
        found = np.zeros((len(texts), self.dims), np.float32)
        step = 10_000
        for begin in range(0, len(texts), step):
            counts = self._weighted(texts.slice(begin, step))
            found[begin : begin + step] = _unit(counts @ self.directions_)
        return found

    def _weighted(self, texts: pa.Array) -> csr_matrix:
        """TF-IDF: the logarithm of how often × how rare, rows of length 1."""
        counts = term_counts(texts, self.column_, len(self.weight_), self.characters)
        counts.data = (1.0 + np.log(counts.data)) * self.weight_[counts.indices]
        length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
        counts.data /= np.repeat(np.maximum(length, 1e-12), np.diff(counts.indptr))
        return counts.astype(np.float32)

    def _directions(self, counts: csr_matrix) -> NDArray[np.float32]:
        found = np.zeros((counts.shape[1], self.dims), np.float32)
        wide = min(self.dims, *counts.shape)
        if wide:
            found[:, :wide] = right_singular_vectors(counts, wide, seed=self.seed).T
        return found


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(
        rows, length, out=np.zeros_like(rows), where=length > 1e-6
    )
    return unit
