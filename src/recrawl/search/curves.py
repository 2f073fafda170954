"""Score-rank curves: the rank that a score has in the answer to a query, in 20 bytes a query.

A curve has three straight pieces of equal length in log rank. Its four knots are at the ranks 1,
L^(1/3), L^(2/3) and L, where L pages match the query (Pandey & Olston 2005). A row holds the
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
NO_PAGES = np.float32(-1.0)  #: log L where no page matches the query
STEP = 1e-6  #: least fall of the log score from knot to knot, so that every score has a rank


def fit_curves(query: IntArray, score: FloatArray, queries: int) -> NDArray[np.float32]:
    """One row per query, from the scores of all pages that match it, in any order."""
    query, score = query[score > 0], score[score > 0].astype(np.float32)
    begin = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=queries))])
    knots = np.ones((queries, PIECES + 1, 2), np.float32)
    _pick_all(score, begin, np.lexsort((-score, query)), knots)
    return curves_through(np.diff(begin), knots)


@njit(cache=True, nogil=True)
def _pick_all(score, begin, place, knots):  # type: ignore[no-untyped-def]
    for query in range(len(knots)):
        pick_knots(score, place[begin[query] : begin[query + 1]], knots[query])


@njit(cache=True, nogil=True)
def pick_knots(score, place, knots):  # type: ignore[no-untyped-def]
    """Write the scores at the ranks around each knot, given the places of all scores by rank."""
    for knot in range(PIECES + 1 if len(place) else 0):
        low, high, _ = _ranks_around(knot, len(place))
        knots[knot, 0], knots[knot, 1] = score[place[low - 1]], score[place[high - 1]]


@njit(cache=True, nogil=True)
def _ranks_around(knot, pages):  # type: ignore[no-untyped-def]
    """The whole ranks on both sides of a knot, and how far it is from the first to the second."""
    rank = np.exp(np.log(pages) * knot / PIECES)
    low = min(int(rank), pages)
    high = min(low + 1, pages)
    part = (np.log(rank) - np.log(low)) / (np.log(high) - np.log(low)) if high > low else 0.0
    return low, high, part


def curves_through(pages: IntArray, knots: NDArray[np.float32]) -> NDArray[np.float32]:
    """One row per query, from how many pages match it and what `pick_knots` wrote."""
    curves = np.zeros((len(pages), LOG_PAGES + 1), np.float32)
    _fit(pages, np.log(knots), curves)
    return curves


def scores_at(rank: int, curves: NDArray[np.float32]) -> FloatArray:
    """The score at a rank, query by query; 0 where fewer pages match the query."""
    score = np.array([np.exp(log_score(np.log(rank), curve)) for curve in curves])
    return np.where(curves[:, LOG_PAGES] > np.log(rank), score, 0.0)


@njit(cache=True, nogil=True)
def _fit(pages, logs, curves):  # type: ignore[no-untyped-def]
    for query in range(len(curves)):
        curve = curves[query]
        curve[LOG_PAGES] = np.log(pages[query]) if pages[query] else NO_PAGES
        for knot in range(PIECES + 1 if pages[query] else 0):
            _, _, part = _ranks_around(knot, pages[query])
            first, second = logs[query, knot]
            curve[knot] = first + (second - first) * part
            if knot:
                curve[knot] = min(curve[knot], curve[knot - 1] - STEP * knot)


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
