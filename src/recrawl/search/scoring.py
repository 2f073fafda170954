"""How well does a page fit a query? Lucene's TF-IDF, BM25, or a weight of the page.

A query's score is the sum over its terms of what each term of the page is worth; a page that lacks
one of them scores 0. Documents are copies of pages: several of one page where its past is studied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.registry import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.content.terms import Counts
    from recrawl.model import FloatArray, IntArray

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
    root = np.sqrt(np.repeat(counts.length, np.diff(counts.start)))
    return np.asarray(np.sqrt(counts.count) * idf[counts.term] ** 2 / root)


def bm25(counts: Counts, among: Collection) -> FloatArray:
    """Robertson's, as Tantivy has it, lengths not rounded."""
    df = among.holding
    idf = np.log1p((among.documents - np.minimum(df, among.documents) + 0.5) / (df + 0.5))
    relative = np.repeat(counts.length, np.diff(counts.start)) / max(among.length, 1e-9)
    tf = counts.count * (1.0 + K1) / (counts.count + K1 * (1.0 - B + B * relative))
    return np.asarray(idf[counts.term] * tf)


SCORINGS: Final[dict[str, Callable[[Counts, Collection], FloatArray]]] = {
    "tfidf": tfidf,
    "bm25": bm25,
}


def scoring(name: str) -> Callable[[Counts, Collection], FloatArray]:
    """What each term of each document is worth, by the name of the function."""
    if name not in SCORINGS:
        raise unknown("scoring", name, [*SCORINGS, "inlinks", "pagerank"])
    return SCORINGS[name]
