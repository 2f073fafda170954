"""Which queries does each text match, and how well? Whole queries: a text must hold all terms.

A query is looked up under its rarest term, so a text is compared with few queries that it does not
match, however many there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray
    from recrawl.search.terms import TermCounts

    #: Query i has the terms term[start[i]:start[i + 1]], at least one.
    QueryTerms = tuple[NDArray[np.int64], NDArray[np.int32]]


@dataclass(frozen=True)
class QueryLists:
    """Queries in the order of their rarest terms: those of term t are at begin[t] to begin[t + 1].

    The terms of the query at place i are term[start[i]:start[i + 1]], the rarest first. A text's
    score for it is `weight[i]` × the sum of the scores of these terms.
    """

    begin: NDArray[np.int64]
    query: NDArray[np.int64]  #: number in the workload
    start: NDArray[np.int64]
    term: NDArray[np.int32]
    weight: FloatArray

    @staticmethod
    def of(terms: QueryTerms, holding: IntArray, *, mean: bool = False) -> QueryLists:
        """The lists of queries; `holding` is how many documents hold each term.

        `mean` takes the mean of the terms' scores: for scores that are those of the page.
        """
        starts, term = terms
        counts, first = np.diff(starts), starts[:-1]
        owner = np.repeat(np.arange(len(counts)), counts)
        term = term[np.lexsort((term, holding[term], owner))]
        order = np.argsort(term[first], kind="stable")
        start = np.concatenate([[0], np.cumsum(counts[order])])
        at = np.arange(start[-1]) + np.repeat(first[order] - start[:-1], counts[order])
        begin = np.searchsorted(term[first][order], np.arange(len(holding) + 1))
        weight = 1.0 / counts[order] if mean else np.ones(len(order))
        return QueryLists(begin, order, start, term[at], weight)

    @property
    def columns(self) -> tuple[Any, ...]:
        """As kernels take them."""
        return self.begin, self.query, self.start, self.term, self.weight


@dataclass(frozen=True)
class QueryScores:
    """Text i matches query[start[i]:start[i + 1]], each with a score > 0."""

    start: NDArray[np.int64]
    query: NDArray[np.int32]
    score: FloatArray


def score_queries(counts: TermCounts, term_score: FloatArray, lists: QueryLists) -> QueryScores:
    """The queries of `lists` that each text matches, and its scores for them."""
    start = np.zeros(len(counts.length) + 1, np.int64)
    # As many as are looked up. Memory that no match fills is never touched.
    most = int(np.diff(lists.begin)[counts.term].sum())
    query, score = np.empty(most, np.int32), np.empty(most)
    texts = (counts.start, counts.term, term_score)
    _score(texts, lists.columns, start, query, score)
    return QueryScores(start, query[: start[-1]], score[: start[-1]])


@njit(cache=True, nogil=True)
def _score(texts, queries, stop, found, score):  # type: ignore[no-untyped-def]
    """Write the matches of each text, and where they stop."""
    own, own_term, own_score = texts
    begin, query, start, term, weight = queries
    held, n = np.zeros(len(begin) - 1), 0
    for text in range(len(own) - 1):
        entries = range(own[text], own[text + 1])
        for i in entries:
            held[own_term[i]] = own_score[i]
        for i in entries:
            for at in range(begin[own_term[i]], begin[own_term[i] + 1]):
                total = sum_terms(start[at], start[at + 1], term, held)
                if total > 0.0:
                    found[n], score[n] = query[at], total * weight[at]
                    n += 1
        for i in entries:
            held[own_term[i]] = 0.0
        stop[text + 1] = n


@njit(cache=True, nogil=True)
def sum_terms(first, last, term, held):  # type: ignore[no-untyped-def]
    """The sum of the scores of term[first:last], given that of each term; 0 if one has none."""
    total = 0.0
    for i in range(first, last):
        score = held[term[i]]
        if score <= 0.0:
            return 0.0
        total += score
    return total
