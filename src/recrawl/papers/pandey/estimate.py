"""The paper's own estimate of what a refresh gains (§5), made while the index is updated.

Every query counts as its single terms. A term's curve gives a page's old and new rank, as whole
numbers; scores of the pages that it passes fall evenly within a piece of the curve. What the policy
that ships does instead is in `recrawl.search.gain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.search.curves import LOG_PAGES, NO_PAGES, PIECES, log_rank, log_score
from recrawl.search.views import DEFAULT_EXPONENT, scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray
    from recrawl.search.terms import TermCounts

MAX_SUMMED = 30  #: ranks that are summed one by one; more become an integral
ROUNDING = 1e-4  #: of the ranks of knots


def paper_gains(
    old: tuple[TermCounts, FloatArray],
    new: tuple[TermCounts, FloatArray],
    frequency: FloatArray,
    curves: NDArray[np.float32],
    exponent: float = DEFAULT_EXPONENT,
) -> FloatArray:
    """The gain of each refresh, which replaces row i of the old copies by row i of the new ones.

    `old` and `new` are terms and their scores; `frequency` is how often each term is asked for.
    """
    gain = np.zeros(len(new[0].length))
    _measure(
        (old[0].start, old[0].term, old[1]), (new[0].start, new[0].term, new[1]), frequency,
        curves, exponent, gain,
    )  # fmt: skip
    return gain * scale(exponent)


@njit(cache=True, nogil=True)
def _measure(old, new, frequency, curves, a, gain):  # type: ignore[no-untyped-def]
    """Visit the terms of each page's new copy, then those that it lost."""
    old_start, old_term, old_score = old
    new_start, new_term, new_score = new
    held = np.zeros(len(frequency))  # the score of each term in the old copy of the page
    for page in range(len(gain)):
        olds = range(old_start[page], old_start[page + 1])
        for i in olds:
            held[old_term[i]] = old_score[i]
        for i in range(new_start[page], new_start[page + 1]):
            term = new_term[i]
            before, held[term] = held[term], 0.0
            gain[page] += frequency[term] * even_gain(before, new_score[i], curves[term], a)
        for i in olds:
            term = old_term[i]
            if held[term] > 0.0:
                gain[page] += frequency[term] * even_gain(held[term], 0.0, curves[term], a)
                held[term] = 0.0


@njit(cache=True, nogil=True)
def even_gain(before, after, curve, a):  # type: ignore[no-untyped-def]
    """Gain / c of a page whose score for a term changes, if the term is asked for once.

    A score of 0 has the rank after the last one, where nobody views it.
    """
    if curve[LOG_PAGES] == NO_PAGES:  # no page held the term: this page is the whole answer
        return after
    pages = round(np.exp(curve[LOG_PAGES]))
    then = round(np.exp(log_rank(np.log(before), curve))) if before > 0.0 else pages + 1
    now = round(np.exp(log_rank(np.log(after), curve))) if after > 0.0 else pages + 1
    views = (_view(now, a) if after > 0.0 else 0.0) - (_view(then, a) if before > 0.0 else 0.0)
    return views * after + _others(then, now, pages, curve, a)


@njit(cache=True, nogil=True)
def _others(then, now, pages, curve, a):  # type: ignore[no-untyped-def]
    """Pages between move up by one rank if the page drops, else down."""
    if then < now:
        last = min(now, pages)
        if last <= then:
            return 0.0
        ends = _view(then, a) * _score(then + 1, curve) - _view(last, a) * _score(last, curve)
        return ends - _falls(then + 1, last - 1, 0, curve, a)
    if then > now:
        ends = _view(then, a) * _score(then - 1, curve) - _view(now, a) * _score(now, curve)
        return ends + _falls(now, then - 2, 1, curve, a)
    return 0.0


@njit(cache=True, nogil=True)
def _falls(first, last, shift, curve, a):  # type: ignore[no-untyped-def]
    """Σ I(k + shift) × the fall of the score from rank k to k + 1, for k from first to last."""
    total, begin, end = 0.0, first, np.float64(curve[LOG_PAGES])
    for piece in range(PIECES):
        low, high = np.exp(end * piece / PIECES), np.exp(end * (piece + 1) / PIECES)
        stop = last if piece == PIECES - 1 else min(last, int(np.ceil(high - ROUNDING)) - 1)
        if stop >= begin:
            fall = (np.exp(curve[piece]) - np.exp(curve[piece + 1])) / max(high - low, ROUNDING)
            total += fall * sum_views(begin + shift, stop + shift, a)
            begin = stop + 1
    return total


@njit(cache=True, nogil=True)
def sum_views(first, last, a):  # type: ignore[no-untyped-def]
    """Σ r^(−a) from first to last; of many ranks the integral from ½ before to ½ after."""
    if last - first >= MAX_SUMMED:
        return ((first - 0.5) ** (1.0 - a) - (last + 0.5) ** (1.0 - a)) / (a - 1.0)
    total = 0.0
    for rank in range(first, last + 1):
        total += _view(rank, a)
    return total


@njit(cache=True, nogil=True)
def _view(rank, a):  # type: ignore[no-untyped-def]
    return float(rank) ** -a


@njit(cache=True, nogil=True)
def _score(rank, curve):  # type: ignore[no-untyped-def]
    return np.exp(log_score(np.log(rank), curve))
