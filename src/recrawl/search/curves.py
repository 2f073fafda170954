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
FEW = 64  #: keys that are sorted fastest by comparing them
STEP = 1e-6  #: least fall of the log score from knot to knot, so that every score has a rank


@dataclass(frozen=True)
class RankedScores:
    """The scores of all pages that match each query, best first, the earlier first of a tie.

    Those of query q are at begin[q] to begin[q + 1]. A key is a score and where it was given,
    packed so that keys ascend where scores fall.
    """

    begin: IntArray
    key: KeyArray

    @staticmethod
    def of(query: IntArray, score: FloatArray, queries: int) -> RankedScores:
        """Of scores > 0, in any order."""
        begin, key = np.zeros(queries + 1, np.int64), np.empty(len(query), np.uint64)
        _group(query, score.astype(np.float32).view(np.uint32), begin, key)
        _sort_groups(begin, key)
        return RankedScores(begin, key)

    def at_ranks(self, value: FloatArray) -> FloatArray:
        """value[rank] of each score, in the order in which they were given; the best has rank 1."""
        found = np.empty(len(self.key))
        _look_up(self.begin, self.key, value, found)
        return found

    def curves(self) -> NDArray[np.float32]:
        """One row per query."""
        knots = np.zeros((len(self.begin) - 1, LOG_PAGES + 1), np.float32)
        score = (~(self.key >> np.uint64(32)).astype(np.uint32)).view(np.float32)
        _fit(self.begin, np.log(score), knots)
        return knots


def fit_curves(query: IntArray, score: FloatArray, queries: int) -> NDArray[np.float32]:
    """One row per query, from the scores of all pages that match it, in any order."""
    return RankedScores.of(query[score > 0], score[score > 0], queries).curves()


@njit(cache=True, nogil=True)
def _group(query, bits, begin, key):  # type: ignore[no-untyped-def]
    """Put the keys of each query together, in the order given. Positive floats sort like bits."""
    for i in range(len(query)):
        begin[query[i] + 1] += 1
    for i in range(1, len(begin)):
        begin[i] += begin[i - 1]
    room = begin[:-1].copy()
    for i in range(len(query)):
        key[room[query[i]]] = np.uint64(~bits[i]) << np.uint64(32) | np.uint64(i)
        room[query[i]] += 1


@njit(cache=True, nogil=True)
def _sort_groups(begin, key):  # type: ignore[no-untyped-def]
    """Sort the keys of each query; many of them by their upper bytes, as the lower ones ascend."""
    counts, room = np.empty(256, np.int64), np.empty(0, np.uint64)
    for group in range(len(begin) - 1):
        own = key[begin[group] : begin[group + 1]]
        if len(own) < FEW:
            own.sort()
            continue
        if len(room) < len(own):
            room = np.empty(2 * len(own), np.uint64)
        other = room[: len(own)]
        for shift in (32, 40, 48, 56):
            _sort_by_byte(own, other, np.uint64(shift), counts)
            own, other = other, own


@njit(cache=True, nogil=True)
def _sort_by_byte(key, into, shift, counts):  # type: ignore[no-untyped-def]
    counts[:] = 0
    for i in range(len(key)):
        counts[(key[i] >> shift) & np.uint64(255)] += 1
    end = 0
    for byte in range(256):
        end, counts[byte] = end + counts[byte], end
    for i in range(len(key)):
        byte = (key[i] >> shift) & np.uint64(255)
        into[counts[byte]] = key[i]
        counts[byte] += 1


@njit(cache=True, nogil=True)
def _look_up(begin, key, value, found):  # type: ignore[no-untyped-def]
    for query in range(len(begin) - 1):
        for i in range(begin[query], begin[query + 1]):
            found[key[i] & np.uint64(0xFFFFFFFF)] = value[i - begin[query] + 1]


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
