"""Which rank would a score have in the answer to a term? Score-rank curves, 20 bytes a term.

Three straight pieces of equal length in the logarithm of the rank, between four knots at the ranks
1, L^(1/3), L^(2/3) and L, where L pages hold the term (Pandey & Olston 2005). Kept are the
logarithms of the four scores and of L.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray

PIECES = 3
LENGTH = PIECES + 1  #: the column of log L, after those of the scores
NONE = np.float32(-1.0)  #: its value where no page holds the term
STEP = 1e-6  #: by which a score lies at least below that of the knot before it, so that ranks exist


def curves(term: IntArray, score: FloatArray, terms: int) -> NDArray[np.float32]:
    """A row a term, from the score of every page that holds it, in any order."""
    if (score <= 0).any():
        term, score = term[score > 0], score[score > 0]
    begin = np.concatenate([[0], np.cumsum(np.bincount(term, minlength=terms))])
    # Positive floats are in the order of their bits. Numbers are sorted much faster than pairs.
    key = ~score.astype(np.float32).view(np.uint32) | (term.astype(np.uint64) << np.uint64(32))
    key.sort()
    logs = np.log((~key.astype(np.uint32)).view(np.float32))
    knots = np.zeros((terms, LENGTH + 1), np.float32)
    _fit(begin, logs, knots)
    return knots


def least(curves: NDArray[np.float32], top: int) -> FloatArray:
    """The score that the first `top` pages have at least, term by term; 0 if fewer hold it."""
    knots = curves[:, LENGTH]
    score = np.array([np.exp(log_score(np.log(top), curve)) for curve in curves])
    return np.where(knots > np.log(top), score, 0.0)


@njit(cache=True, nogil=True)
def _fit(begin, logs, knots):  # type: ignore[no-untyped-def]
    for term in range(len(knots)):
        many = begin[term + 1] - begin[term]
        if many == 0:
            knots[term, LENGTH] = NONE
            continue
        end = np.log(many)
        for knot in range(PIECES + 1):
            rank = np.exp(end * knot / PIECES)
            low = min(int(rank), many)
            high = min(low + 1, many)
            part = (
                (np.log(rank) - np.log(low)) / (np.log(high) - np.log(low)) if high > low else 0.0
            )
            first, second = logs[begin[term] + low - 1], logs[begin[term] + high - 1]
            knots[term, knot] = first + (second - first) * part
            if knot:
                knots[term, knot] = min(knots[term, knot], knots[term, knot - 1] - STEP * knot)
        knots[term, LENGTH] = end


@njit(cache=True, nogil=True)
def rank_of(score: float, curve: NDArray[np.float32]) -> float:
    """The rank of a score > 0 among the pages that hold the term; from 1 to L."""
    return float(np.exp(log_rank(np.log(score), curve)))


@njit(cache=True, nogil=True)
def score_at(rank: float, curve: NDArray[np.float32]) -> float:
    """The score at a rank, the inverse; beyond the ends that of the ends."""
    return float(np.exp(log_score(np.log(max(rank, 1.0)), curve)))


@njit(cache=True, nogil=True)
def log_rank(log, curve):  # type: ignore[no-untyped-def]
    """The logarithm of the rank of the score with this logarithm."""
    end = np.float64(curve[LENGTH])
    if log >= curve[0]:
        return 0.0
    for piece in range(PIECES):
        if log >= curve[piece + 1]:
            part = (curve[piece] - log) / (curve[piece] - curve[piece + 1])
            return end * (piece + part) / PIECES
    return end


@njit(cache=True, nogil=True)
def log_score(at, curve):  # type: ignore[no-untyped-def]
    """The logarithm of the score at the logarithm of a rank."""
    end = np.float64(curve[LENGTH])
    if at <= 0.0:
        return np.float64(curve[0])
    if at >= end:
        return np.float64(curve[PIECES])
    piece = min(int(at * PIECES / end), PIECES - 1)
    part = at * PIECES / end - piece
    return curve[piece] + (curve[piece + 1] - curve[piece]) * part
