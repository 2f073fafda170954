"""Which documents does each query find, and in which order? Every match of a workload.

Documents may be several copies of one page. A repository holds at most one of them, so that its
answer to a query is the list of all copies, best first, without those it does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray
    from recrawl.search.queries import Workload
    from recrawl.search.terms import Counts


@dataclass(frozen=True)
class Matches:
    """Query i finds document[start[i]:start[i + 1]], best first, ties by page."""

    start: NDArray[np.int64]
    document: NDArray[np.int32]
    score: FloatArray
    frequency: FloatArray  #: of each query
    page: NDArray[np.int32]  #: of each document

    def __len__(self) -> int:
        return len(self.frequency)

    @property
    def pages(self) -> int:
        return int(self.page.max(initial=-1)) + 1

    def take(self, queries: IntArray) -> Matches:
        """The same of some queries."""
        counts = np.diff(self.start)[queries]
        start = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.start[queries] - start[:-1], counts) + np.arange(start[-1])
        return Matches(start, self.document[at], self.score[at], self.frequency[queries], self.page)

    def longest(self) -> int:
        """How many documents the query with most of them finds."""
        return int(np.diff(self.start).max(initial=0))


def matches(
    counts: Counts,
    worth: FloatArray,
    workload: Workload,
    page: IntArray,
    weight: FloatArray | None = None,
) -> Matches:
    """All documents that hold all terms of a query; `worth` is what each term of each is worth.

    With a `weight` of pages that is the score, whatever the terms are worth.
    """
    order = np.argsort(counts.term, kind="stable")
    holder = np.repeat(np.arange(len(counts.length), dtype=np.int32), np.diff(counts.start))[order]
    begin = np.searchsorted(counts.term[order], np.arange(len(workload.vocabulary) + 1))
    room = np.zeros(len(workload) + 1, np.int64)
    none = np.empty(0)
    shape = (workload.start, workload.term, begin, holder, worth[order])
    _match(*shape, room, np.empty(0, np.int32), none)
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
def _match(first, term, begin, holder, worth, room, document, score):  # type: ignore[no-untyped-def]
    """Count the matches of each query into `room`; write them where there is any."""
    n = 0
    for query in range(len(first) - 1):
        held = term[first[query] : first[query + 1]]
        rare = held[0]
        for t in held:
            if begin[t + 1] - begin[t] < begin[rare + 1] - begin[rare]:
                rare = t
        for at in range(begin[rare], begin[rare + 1]):
            total, every = worth[at], True
            for t in held:
                if t == rare:
                    continue
                near = begin[t] + np.searchsorted(holder[begin[t] : begin[t + 1]], holder[at])
                if near == begin[t + 1] or holder[near] != holder[at]:
                    every = False
                    break
                total += worth[near]
            if every:
                if len(document):
                    document[n], score[n] = holder[at], total
                n += 1
        room[query + 1] = n
