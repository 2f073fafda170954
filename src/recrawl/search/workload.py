"""A workload: what people search for and how often, as sets of terms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl.search.terms import word_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray

#: The words that Lucene leaves out of English texts.
STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)


@dataclass(frozen=True)
class Workload:
    """Distinct queries as sets of terms: query i has the terms term[start[i]:start[i + 1]]."""

    start: NDArray[np.int64]
    term: NDArray[np.int32]  #: numbers in the vocabulary
    frequency: FloatArray  #: share of all searches, by query
    vocabulary: KeyArray  #: hashes of all terms, ascending
    empty: int  #: queries left out because they hold only stop words, or nothing
    clicked: FloatArray = field(default_factory=lambda: np.empty(0))  #: ranks of clicked results

    def __len__(self) -> int:
        return len(self.frequency)

    @property
    def terms(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where the terms of each query begin, and the terms."""
        return self.start, self.term

    def take(self, kept: IntArray | BoolArray) -> Workload:
        """Some of the queries; the vocabulary becomes that of these."""
        rows = np.flatnonzero(kept) if kept.dtype == np.bool_ else kept
        counts = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.start[rows] - start[:-1], counts) + np.arange(start[-1])
        used, term = np.unique(self.term[at], return_inverse=True)
        share = self.frequency[rows]
        share = share / share.sum() if len(share) else share
        return replace(
            self,
            start=start,
            term=term.astype(np.int32),
            frequency=share,
            vocabulary=self.vocabulary[used],
        )

    def term_frequency(self) -> FloatArray:
        """How often each term is asked for: summed over the queries that hold it."""
        weight = np.repeat(self.frequency, np.diff(self.start))
        return np.bincount(self.term, weight, minlength=len(self.vocabulary)).astype(np.float64)

    def split_queries(self) -> Workload:
        """Every term as a query of its own, asked as often as all queries that hold it (Q′)."""
        terms = np.arange(len(self.vocabulary) + 1)
        frequency = self.term_frequency()
        return replace(self, start=terms, term=terms[:-1].astype(np.int32), frequency=frequency)


def build_workload(text: list[str], frequency: FloatArray) -> Workload:
    """Queries as sets of terms without stop words; equal sets are one query.

    >>> import numpy as np
    >>> len(build_workload(["Cheap flights", "flights cheap", "to be", ""], np.ones(4)))
    1
    """
    start, word = word_hashes(text)
    query = np.repeat(np.arange(len(text)), np.diff(start))
    is_term = ~np.isin(word, word_hashes([STOP_WORDS])[1])
    vocabulary, number = np.unique(word[is_term], return_inverse=True)
    pairs = np.unique(query[is_term] * (len(vocabulary) + 1) + number)  # each term once a query
    query, number = np.divmod(pairs, len(vocabulary) + 1)
    n_terms = np.bincount(query, minlength=len(text))
    digest = _set_digests(query, vocabulary[number], len(text))
    asked = np.flatnonzero(n_terms)
    _, first, same = np.unique(digest[asked], return_index=True, return_inverse=True)
    share = np.bincount(same, frequency[asked], minlength=len(first)).astype(np.float64)
    start = np.concatenate([[0], np.cumsum(n_terms)])
    every = Workload(
        start, number.astype(np.int32), frequency, vocabulary, int((n_terms == 0).sum())
    )
    total = float(share.sum())
    return replace(every.take(asked[first]), frequency=share / total if total > 0 else share)


def _set_digests(query: IntArray, word: KeyArray, size: int) -> KeyArray:
    """A hash of each query's set of terms, whatever their order."""
    mixed = (word ^ (word >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    digest = np.zeros(size, np.uint64)
    np.add.at(digest, query, mixed ^ (mixed >> np.uint64(32)))
    return digest
