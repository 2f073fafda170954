"""All documents that each query of a workload matches, best first.

Several documents may be copies of one page. A repository holds at most one of them: its answer to a
query is this list without the documents that it does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray
    from recrawl.search.terms import TermCounts
    from recrawl.search.workload import Workload


@dataclass(frozen=True)
class Matches:
    """Query i matches document[start[i]:start[i + 1]], best first, ties by page."""

    start: NDArray[np.int64]
    document: NDArray[np.int32]
    score: FloatArray
    frequency: FloatArray  #: by query
    page: NDArray[np.int32]  #: by document

    def __len__(self) -> int:
        return len(self.frequency)

    @property
    def pages(self) -> int:
        return int(self.page.max(initial=-1)) + 1

    def take(self, queries: IntArray) -> Matches:
        """The matches of some queries."""
        counts = np.diff(self.start)[queries]
        start = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.start[queries] - start[:-1], counts) + np.arange(start[-1])
        return Matches(start, self.document[at], self.score[at], self.frequency[queries], self.page)

    def queries_of(self, documents: IntArray) -> IntArray:
        """The queries that match any of these documents, ascending; −1 is no document."""
        start, query = self._queries
        documents = documents[documents >= 0]
        counts = np.diff(start)[documents]
        first = np.repeat(start[documents] - np.cumsum(counts) + counts, counts)
        is_touched = np.zeros(len(self), np.bool_)
        is_touched[query[first + np.arange(len(first))]] = True
        return np.flatnonzero(is_touched)

    @cached_property
    def _queries(self) -> tuple[IntArray, IntArray]:
        """Document i is matched by the queries query[start[i]:start[i + 1]]."""
        order = np.argsort(self.document, kind="stable")
        query = np.repeat(np.arange(len(self)), np.diff(self.start))[order]
        return np.searchsorted(self.document[order], np.arange(len(self.page) + 1)), query

    def longest(self) -> int:
        """The largest number of documents that a query matches."""
        return int(np.diff(self.start).max(initial=0))


def find_matches(
    counts: TermCounts,
    term_score: FloatArray,
    workload: Workload,
    page: IntArray,
    weight: FloatArray | None = None,
) -> Matches:
    """The documents that hold all terms of a query, scored by the sum of their term scores.

    `page` is the page of each document. Given a `weight` of each page, that is the score instead.
    """
    order = np.argsort(counts.term, kind="stable")
    holder = np.repeat(np.arange(len(counts.length), dtype=np.int32), np.diff(counts.start))[order]
    begin = np.searchsorted(counts.term[order], np.arange(len(workload.vocabulary) + 1))
    room = np.zeros(len(workload) + 1, np.int64)
    shape = (workload.start, workload.term, begin, holder, term_score[order])
    _match(*shape, room, np.empty(0, np.int32), np.empty(0))
    document = np.empty(int(room[-1]), np.int32)
    score = np.empty(len(document))
    _match(*shape, room, document, score)
    if weight is not None:
        score = weight[page[document]]
    query = np.repeat(np.arange(len(workload)), np.diff(room))
    ranked = np.lexsort((page[document], -score, query))
    return Matches(
        room, document[ranked], score[ranked], workload.frequency, np.asarray(page, np.int32)
    )


@njit(cache=True, nogil=True)
def _match(first, term, begin, holder, term_score, room, document, score):  # type: ignore[no-untyped-def]
    """Count the matches of each query into `room`; write them if `document` has room."""
    n = 0
    for query in range(len(first) - 1):
        held = term[first[query] : first[query + 1]]
        rare = held[0]
        for t in held:
            if begin[t + 1] - begin[t] < begin[rare + 1] - begin[rare]:
                rare = t
        for at in range(begin[rare], begin[rare + 1]):
            total, holds_all = term_score[at], True
            for t in held:
                if t == rare:
                    continue
                near = begin[t] + np.searchsorted(holder[begin[t] : begin[t + 1]], holder[at])
                if near == begin[t + 1] or holder[near] != holder[at]:
                    holds_all = False
                    break
                total += term_score[near]
            if holds_all:
                if len(document):
                    document[n], score[n] = holder[at], total
                n += 1
        room[query + 1] = n
