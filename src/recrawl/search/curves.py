"""Score-rank curves: the rank that a score has in the answer to a term, in 20 bytes a term.

A curve has three straight pieces of equal length in log rank. Its four knots are at the ranks 1,
L^(1/3), L^(2/3) and L, where L pages hold the term (Pandey & Olston 2005). A row holds the
logarithms of the four scores, then log L.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray

PIECES = 3
LOG_PAGES = PIECES + 1  #: the column of log L
NO_PAGES = np.float32(-1.0)  #: log L where no page holds the term
STEP = 1e-6  #: least fall of the log score from knot to knot, so that every score has a rank


def fit_curves(term: IntArray, score: FloatArray, terms: int) -> NDArray[np.float32]:
    """One row per term, from the scores of all pages that hold it, in any order."""
    if (score <= 0).any():
        term, score = term[score > 0], score[score > 0]
    begin = np.concatenate([[0], np.cumsum(np.bincount(term, minlength=terms))])
    # Positive floats sort like their bits, and integers sort much faster than pairs.
    key = ~score.astype(np.float32).view(np.uint32) | (term.astype(np.uint64) << np.uint64(32))
    key.sort()
    logs = np.log((~key.astype(np.uint32)).view(np.float32))
    knots = np.zeros((terms, LOG_PAGES + 1), np.float32)
    _fit(begin, logs, knots)
    return knots


def scores_at(rank: int, curves: NDArray[np.float32]) -> FloatArray:
    """The score at a rank, term by term; 0 where fewer pages hold the term."""
    score = np.array([np.exp(log_score(np.log(rank), curve)) for curve in curves])
    return np.where(curves[:, LOG_PAGES] > np.log(rank), score, 0.0)


@njit(cache=True, nogil=True)
def _fit(begin, logs, knots):  # type: ignore[no-untyped-def]
    for term in range(len(knots)):
        pages = begin[term + 1] - begin[term]
        if pages == 0:
            knots[term, LOG_PAGES] = NO_PAGES
            continue
        end = np.log(pages)
        for knot in range(PIECES + 1):
            rank = np.exp(end * knot / PIECES)
            low = min(int(rank), pages)
            high = min(low + 1, pages)
            part = (
                (np.log(rank) - np.log(low)) / (np.log(high) - np.log(low)) if high > low else 0.0
            )
            first, second = logs[begin[term] + low - 1], logs[begin[term] + high - 1]
            knots[term, knot] = first + (second - first) * part
            if knot:
                knots[term, knot] = min(knots[term, knot], knots[term, knot - 1] - STEP * knot)
        knots[term, LOG_PAGES] = end


@njit(cache=True, nogil=True)
def log_rank(log, curve):  # type: ignore[no-untyped-def]
    """The log rank of a log score among the pages that hold the term, from 0 to log L."""
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
