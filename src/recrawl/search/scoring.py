"""How well does a term fit a page? Lucene's TF-IDF, and BM25.

A page's score for a query is the sum of its scores for the query's terms, 0 if it lacks one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

from recrawl.registry import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import FloatArray, IntArray
    from recrawl.search.terms import TermCounts

K1, B = 1.2, 0.75  #: parameters of BM25, those of Tantivy and Lucene


@dataclass(frozen=True)
class CorpusStatistics:
    """What scores depend on beyond the document; recomputed only when many documents changed."""

    documents: int
    holding: IntArray  #: documents that hold each term
    length: float  #: mean number of words

    @staticmethod
    def of(counts: TermCounts, terms: int) -> CorpusStatistics:
        holding = np.bincount(counts.term, minlength=terms)
        return CorpusStatistics(
            len(counts.length), holding, float(counts.length.mean()) if len(counts.length) else 0.0
        )


def tfidf(counts: TermCounts, corpus: CorpusStatistics) -> FloatArray:
    """√tf · idf² / √length, idf = 1 + ln(N / (df + 1)): Lucene's, without the query's norm."""
    idf = 1.0 + np.log(corpus.documents / (corpus.holding + 1.0))
    score = np.empty(len(counts.term))
    norm = 1.0 / np.sqrt(np.maximum(counts.length, 1))
    _tfidf(counts.start, counts.term, counts.count, idf**2, norm, score)
    return score


def bm25(counts: TermCounts, corpus: CorpusStatistics) -> FloatArray:
    """Robertson's BM25 as in Tantivy, but with lengths that are not rounded."""
    df = corpus.holding
    idf = np.log1p((corpus.documents - np.minimum(df, corpus.documents) + 0.5) / (df + 0.5))
    norm = K1 * (1.0 - B + B * counts.length / max(corpus.length, 1e-9))
    score = np.empty(len(counts.term))
    _bm25(counts.start, counts.term, counts.count, idf * (1.0 + K1), norm, score)
    return score


@njit(cache=True, nogil=True)
def _tfidf(start, term, count, value, norm, score):  # type: ignore[no-untyped-def]
    for text in range(len(norm)):
        for at in range(start[text], start[text + 1]):
            score[at] = np.sqrt(count[at]) * value[term[at]] * norm[text]


@njit(cache=True, nogil=True)
def _bm25(start, term, count, value, norm, score):  # type: ignore[no-untyped-def]
    for text in range(len(norm)):
        for at in range(start[text], start[text + 1]):
            score[at] = value[term[at]] * count[at] / (count[at] + norm[text])


SCORINGS: Final[dict[str, Callable[[TermCounts, CorpusStatistics], FloatArray]]] = {
    "tfidf": tfidf,
    "bm25": bm25,
}


def scoring(name: str) -> Callable[[TermCounts, CorpusStatistics], FloatArray]:
    """The function that scores each term of each document, by its name."""
    if name not in SCORINGS:
        raise unknown("scoring", name, [*SCORINGS, "inlinks", "pagerank"])
    return SCORINGS[name]
