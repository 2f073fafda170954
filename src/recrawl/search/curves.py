"""Score-rank curves: the rank that a score has in the answer to a query, in 20 bytes a query.

A curve has three straight pieces of equal length in log rank. Its four knots are at the ranks 1,
L^(1/3), L^(2/3) and L, where L pages match the query (Pandey & Olston 2005). A row holds the
logarithms of the four scores, then log L.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray, KeyArray

PIECES = 3
LOG_PAGES = PIECES + 1  #: the column of log L
NO_PAGES = np.float32(-1.0)  #: log L where no page matches the query
STEP = 1e-6  #: least fall of the log score from knot to knot, so that every score has a rank


@dataclass(frozen=True)
class RankedScores:
    """The scores of all pages that match each query: those of query q at begin[q] to begin[q + 1].

    A key is a query and a score, packed so that keys ascend by query and then fall by score.
    """

    begin: IntArray
    key: KeyArray

    @staticmethod
    def of(query: IntArray, score: FloatArray, queries: int) -> RankedScores:
        """Of scores > 0, in any order."""
        begin = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=queries))])
        key = _keys(query, score)
        key.sort()
        return RankedScores(begin, key)

    def ranks(self, query: IntArray, score: FloatArray) -> IntArray:
        """The rank of each of these scores, given as they were ranked; the earlier wins a tie."""
        rank = np.empty(len(query), np.int64)
        _rank(self.begin, self.key, query, _keys(query, score), rank)
        return rank

    def curves(self) -> NDArray[np.float32]:
        """One row per query."""
        knots = np.zeros((len(self.begin) - 1, LOG_PAGES + 1), np.float32)
        _fit(self.begin, np.log((~self.key.astype(np.uint32)).view(np.float32)), knots)
        return knots


def fit_curves(query: IntArray, score: FloatArray, queries: int) -> NDArray[np.float32]:
    """One row per query, from the scores of all pages that match it, in any order."""
    return RankedScores.of(query[score > 0], score[score > 0], queries).curves()


def _keys(query: IntArray, score: FloatArray) -> KeyArray:
    """Positive floats sort like their bits, and integers sort much faster than pairs."""
    bits = ~score.astype(np.float32).view(np.uint32)
    return np.asarray(bits | (query.astype(np.uint64) << np.uint64(32)))


@njit(cache=True, nogil=True)
def _rank(begin, key, query, own, rank):  # type: ignore[no-untyped-def]
    taken = np.zeros(len(key), np.int32)  # equal scores that have a rank
    for i in range(len(own)):
        first, last = begin[query[i]], begin[query[i] + 1]
        at = first + np.searchsorted(key[first:last], own[i])
        taken[at] += 1
        rank[i] = at - first + taken[at]


def scores_at(rank: int, curves: NDArray[np.float32]) -> FloatArray:
    """The score at a rank, query by query; 0 where fewer pages match the query."""
    score = np.array([np.exp(log_score(np.log(rank), curve)) for curve in curves])
    return np.where(curves[:, LOG_PAGES] > np.log(rank), score, 0.0)


@njit(cache=True, nogil=True)
def _fit(begin, logs, knots):  # type: ignore[no-untyped-def]
    for query in range(len(knots)):
        pages = begin[query + 1] - begin[query]
        if pages == 0:
            knots[query, LOG_PAGES] = NO_PAGES
            continue
        end = np.log(pages)
        for knot in range(PIECES + 1):
            rank = np.exp(end * knot / PIECES)
            low = min(int(rank), pages)
            high = min(low + 1, pages)
            part = (
                (np.log(rank) - np.log(low)) / (np.log(high) - np.log(low)) if high > low else 0.0
            )
            first, second = logs[begin[query] + low - 1], logs[begin[query] + high - 1]
            knots[query, knot] = first + (second - first) * part
            if knot:
                knots[query, knot] = min(knots[query, knot], knots[query, knot - 1] - STEP * knot)
        knots[query, LOG_PAGES] = end


@njit(cache=True, nogil=True)
def log_rank(log, curve):  # type: ignore[no-untyped-def]
    """The log rank of a log score among the pages that match the query, from 0 to log L."""
    end = np.float64(curve[LOG_PAGES])
    if log >= curve[0]:
        return 0.0
    for piece in range(PIECES):
        if log >= curve[piece + 1]:
            part = (curve[piece] - log) / (curve[piece] - curve[piece + 1])
            return end * (piece + part) / PIECES
    return end


@njit(cache=True, nogil=True)
def log_score(at, curve):  # type: ignore[no-untyped-def]
    """The log score at a log rank, clipped to 0 … log L: the inverse of `log_rank`."""
    end = np.float64(curve[LOG_PAGES])
    if at <= 0.0:
        return np.float64(curve[0])
    if at >= end:
        return np.float64(curve[PIECES])
    piece = min(int(at * PIECES / end), PIECES - 1)
    part = at * PIECES / end - piece
    return curve[piece] + (curve[piece + 1] - curve[piece]) * part
