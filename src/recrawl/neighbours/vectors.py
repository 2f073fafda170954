"""What is each page about? Unit vectors of its words, close where texts are similar."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from recrawl.errors import BadInput
from recrawl.neighbours.svd import right_singular_vectors
from recrawl.page.word_buckets import N_BUCKETS, document_counts, term_counts

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

    from recrawl.model import IntArray, Pages

MAX_SAMPLE = 20_000  #: texts that a space is learned from; more change little
MIN_TEXTS = 2  #: that must contain a word: a word of one text brings it close to no other
RELEARN_FACTOR = 2  #: learn the space again at this many times the texts it was learned from
BATCH = 10_000  #: texts embedded at a time


@dataclass(kw_only=True)
class TextSpace:
    """TF-IDF of the most common words, reduced by a randomised SVD (latent semantic analysis).

    Only the first `characters` of a text are read. Once fitted, new texts are embedded in the same
    space, so a changed page needs no new fit.
    """

    dims: int = 192
    terms: int = 15_000
    characters: int = 20_000
    seed: int = 0
    column_: IntArray = field(
        default_factory=lambda: np.full(N_BUCKETS, -1), init=False, repr=False
    )
    weight_: NDArray[np.float32] = field(
        init=False, repr=False
    )  #: of each word: high for rare ones
    directions_: NDArray[np.float32] = field(init=False, repr=False)  #: terms × dims

    def fit(self, texts: pa.Array) -> Self:
        """Learn words and directions from texts, at most MAX_SAMPLE of them; null is left out."""
        for name in ("dims", "terms", "characters"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be at least 1. Got {getattr(self, name)}.")
        texts = texts.drop_null()
        if len(texts) > MAX_SAMPLE:
            random = np.random.default_rng(self.seed)
            texts = texts.take(np.sort(random.choice(len(texts), MAX_SAMPLE, replace=False)))
        n_texts = document_counts(texts, self.characters)
        words = np.argsort(-n_texts, kind="stable")[: self.terms]
        words = words[n_texts[words] >= MIN_TEXTS]
        self.column_ = np.full(N_BUCKETS, -1)
        self.column_[words] = np.arange(len(words))
        self.weight_ = (np.log((1.0 + len(texts)) / (1.0 + n_texts[words])) + 1.0).astype(
            np.float32
        )
        self.directions_ = self._directions(self._weighted(texts))
        return self

    def embed(self, texts: pa.Array) -> NDArray[np.float32]:
        """A unit vector a text, `dims` wide; all zero if it is null, empty or of unknown words."""
        vectors = np.zeros((len(texts), self.dims), np.float32)
        for begin in range(0, len(texts), BATCH):
            counts = self._weighted(texts.slice(begin, BATCH))
            vectors[begin : begin + BATCH] = _unit(counts @ self.directions_)
        return vectors

    def _weighted(self, texts: pa.Array) -> csr_matrix:
        """TF-IDF: log of the count × weight of the word, in rows of length 1."""
        counts = term_counts(texts, self.column_, len(self.weight_), self.characters)
        counts.data = (1.0 + np.log(counts.data)) * self.weight_[counts.indices]
        length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
        counts.data /= np.repeat(np.maximum(length, 1e-12), np.diff(counts.indptr))
        return counts.astype(np.float32)

    def _directions(self, counts: csr_matrix) -> NDArray[np.float32]:
        directions = np.zeros((counts.shape[1], self.dims), np.float32)
        n = min(self.dims, *counts.shape)
        if n:
            directions[:, :n] = right_singular_vectors(counts, n, seed=self.seed).T
        return directions


@dataclass(kw_only=True)
class TextVectors:
    """The vectors of our copies of pages, kept up to date: only changed copies are read again.

    The caller knows which copies changed and gives them as rows. Where the text of a copy is at
    least as close to the old one as `same`, a cosine, the old vector stays.
    """

    n_pages: int
    space: TextSpace = field(default_factory=TextSpace)
    same: float = np.inf
    n_learned: int = 0  #: texts that the space was learned from; 0: not learned yet
    vector: NDArray[np.float32] = field(init=False, repr=False)  #: one row per page; 0 without text

    def __post_init__(self) -> None:
        self.vector = np.zeros((self.n_pages, self.space.dims), np.float32)

    def is_outgrown(self, n_texts: int) -> bool:
        """Whether the space was learned from too few texts, now that there are this many."""
        return self.n_learned < min(n_texts / RELEARN_FACTOR, MAX_SAMPLE)

    def learn(self, pages: Pages, rows: IntArray) -> None:
        """Learn the space from a sample of the copies at these rows; all vectors become 0.

        If none of them has a text, nothing changes.
        """
        step = max(len(rows) // MAX_SAMPLE, 1)
        texts = pages.take(rows[::step]).texts(self.space.characters)
        self.n_learned = step * (len(texts) - texts.null_count)  # the texts of all the rows
        if self.n_learned:
            self.space.fit(texts)
            self.vector[:] = 0.0

    def update(self, rows: IntArray, texts: pa.Array) -> IntArray:
        """Embed the new texts of these rows; returns the rows whose vectors are different now."""
        if not self.n_learned:
            return rows[:0]
        vectors = self.space.embed(texts)
        moved = np.flatnonzero(np.einsum("ij,ij->i", vectors, self.vector[rows]) < self.same)
        self.vector[rows[moved]] = vectors[moved]
        return np.asarray(rows[moved])

    def reindex(self, old_row: IntArray) -> None:
        """Follow a new order of pages: the old row of each page, or -1 for a new page."""
        old, self.n_pages = self.vector, len(old_row)
        self.vector = np.zeros((self.n_pages, self.space.dims), np.float32)
        self.vector[old_row >= 0] = old[old_row[old_row >= 0]]


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(
        rows, length, out=np.zeros_like(rows), where=length > 1e-6
    )
    return unit
