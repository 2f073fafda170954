"""How did the weight of each word of each page move from day to day? (Radinsky & Bennett 2013)

Dyn(w, d) is the TF-IDF of a word over the days. Most words of a page never move: only of those that
do the series is kept. On days on which a page was not seen it is taken to be as it was last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from recrawl.model import Neighbours

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray
    from recrawl.papers.radinsky.series.snapshots import Snapshots


@dataclass(frozen=True)
class Dynamics:
    """Page p has the words word[start[p]:start[p + 1]], ascending; and so the other columns."""

    start: IntArray
    word: NDArray[np.int32]
    weight: FloatArray  #: ω: its TF-IDF in the last copy; 0 where that has it not
    level: FloatArray  #: its TF-IDF, of a word that never moved; else its mean
    slot: IntArray  #: the row of `series` of a word that moved, else -1
    series: NDArray[np.float32]  #: a column a day
    words: int  #: of the vocabulary

    @property
    def pages(self) -> int:
        return len(self.start) - 1

    @property
    def days(self) -> int:
        return int(self.series.shape[1])

    def index(self, kept: BoolArray) -> tuple[IntArray, IntArray]:
        """Where the list of each word begins, and in it the places where it is kept."""
        at = np.flatnonzero(kept)
        order = at[np.argsort(self.word[at], kind="stable")]
        return np.searchsorted(self.word[order], np.arange(self.words + 1)), order


def dynamics(snapshots: Snapshots) -> Dynamics:
    """The words of each page over the days of its snapshots."""
    copy, counts, idf = _filled(snapshots.copy), snapshots.counts, snapshots.idf()
    days = _by_page(copy, counts.shape[0])
    total = days @ counts  # over the days
    total.sort_indices()
    squares = days @ counts.multiply(counts).tocsr()
    squares.sort_indices()
    word, start = total.indices, total.indptr.astype(np.int64)
    # Whole numbers, so that this is exact: their mean square is the square of their mean.
    moves = squares.data * snapshots.days != total.data**2
    slot = np.where(moves, np.cumsum(moves) - 1, -1)
    series = np.zeros((int(moves.sum()), snapshots.days), np.float32)
    held = np.zeros(len(word))
    table = (counts.indptr, counts.indices, counts.data)
    _fill(copy, *table, start, word, slot, series, held, counts.shape[1])
    series *= idf[word[moves]][:, None].astype(np.float32)
    level = total.data / max(snapshots.days, 1) * idf[word]
    return Dynamics(start, word, held * idf[word], level, slot, series, counts.shape[1])


def _by_page(copy: IntArray, copies: int) -> Any:
    """How many days each page showed each copy."""
    page, day = np.nonzero(copy >= 0)
    where = (page, copy[page, day])
    return csr_matrix((np.ones(len(page)), where), shape=(len(copy), copies))


def _filled(copy: IntArray) -> IntArray:
    """The last copy known on each day, or before any the first that will be."""
    days = np.arange(copy.shape[1])
    seen = np.maximum.accumulate(np.where(copy >= 0, days, -1), axis=1)
    seen = np.where(seen < 0, np.argmax(copy >= 0, axis=1)[:, None], seen)
    return np.take_along_axis(copy, seen, axis=1)


@njit(cache=True)
def _fill(copy, start, word, count, own, mine, slot, series, held, words):  # type: ignore[no-untyped-def]
    """The series of words that move, and of all words their count on the last day."""
    place = np.full(words, -1)
    for page in range(len(copy)):
        for at in range(own[page], own[page + 1]):
            place[mine[at]] = at
        for day in range(copy.shape[1]):
            row = copy[page, day]
            if row < 0:
                continue
            for at in range(start[row], start[row + 1]):
                to = place[word[at]]
                held[to] = count[at] if day == copy.shape[1] - 1 else 0.0
                if slot[to] >= 0:
                    series[slot[to], day] = count[at]


def best(
    search: Callable[[int, int, IntArray, FloatArray], None], pages: int, k: int
) -> tuple[IntArray, FloatArray]:
    """Rows and values of k pages for each, as a search finds them; on two cores.

    `search(begin, end, row, value)` fills those of the pages from begin to end; row -1 is none.
    """
    from concurrent.futures import ThreadPoolExecutor

    row, value = np.full((pages, k), -1, np.int64), np.zeros((pages, k))
    edges = np.linspace(0, pages, min(pages, 64) + 1).astype(int)
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(search, a, b, row[a:b], value[a:b])
            for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
        for job in jobs:
            job.result()
    return row, value


def trimmed(row: IntArray, weight: FloatArray) -> Neighbours:
    """Neighbours without those that weigh nothing."""
    there = (row >= 0) & (weight > 0)
    return Neighbours(np.where(there, row, -1), np.where(there, weight, 0.0))
