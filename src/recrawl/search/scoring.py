"""How well does a page fit a query? Lucene's TF-IDF, BM25, or a weight of the page.

A query's score is the sum over its terms of what each term of the page is worth; a page that lacks
one of them scores 0. Documents are copies of pages: several of one page where its past is studied.
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
    from recrawl.search.terms import Counts

K1, B = 1.2, 0.75  #: of BM25, as Tantivy and Lucene have them


@dataclass(frozen=True)
class Collection:
    """What a score knows of all documents together; kept while they change, for a while."""

    documents: int
    holding: IntArray  #: documents that hold each term
    length: float  #: words of a document, on the mean

    @staticmethod
    def of(counts: Counts, terms: int) -> Collection:
        holding = np.bincount(counts.term, minlength=terms)
        return Collection(
            len(counts.length), holding, float(counts.length.mean()) if len(counts.length) else 0.0
        )


def tfidf(counts: Counts, among: Collection) -> FloatArray:
    """√tf · idf² / √length, idf = 1 + ln(N / (df + 1)): Lucene's, without what is one a query."""
    idf = 1.0 + np.log(among.documents / (among.holding + 1.0))
    found = np.empty(len(counts.term))
    norm = 1.0 / np.sqrt(np.maximum(counts.length, 1))
    _tfidf(counts.start, counts.term, counts.count, idf**2, norm, found)
    return found


def bm25(counts: Counts, among: Collection) -> FloatArray:
    """Robertson's, as Tantivy has it, lengths not rounded."""
    df = among.holding
    idf = np.log1p((among.documents - np.minimum(df, among.documents) + 0.5) / (df + 0.5))
    norm = K1 * (1.0 - B + B * counts.length / max(among.length, 1e-9))
    found = np.empty(len(counts.term))
    _bm25(counts.start, counts.term, counts.count, idf * (1.0 + K1), norm, found)
    return found


@njit(cache=True, nogil=True)
def _tfidf(start, term, count, value, norm, found):  # type: ignore[no-untyped-def]
    for text in range(len(norm)):
        for at in range(start[text], start[text + 1]):
            found[at] = np.sqrt(count[at]) * value[term[at]] * norm[text]


@njit(cache=True, nogil=True)
def _bm25(start, term, count, value, norm, found):  # type: ignore[no-untyped-def]
    for text in range(len(norm)):
        for at in range(start[text], start[text + 1]):
            found[at] = value[term[at]] * count[at] / (count[at] + norm[text])


SCORINGS: Final[dict[str, Callable[[Counts, Collection], FloatArray]]] = {
    "tfidf": tfidf,
    "bm25": bm25,
}


def scoring(name: str) -> Callable[[Counts, Collection], FloatArray]:
    """What each term of each document is worth, by the name of the function."""
    if name not in SCORINGS:
        raise unknown("scoring", name, [*SCORINGS, "inlinks", "pagerank"])
    return SCORINGS[name]
