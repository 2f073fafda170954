"""What does a refresh add to the usefulness of answers? An estimate, made as the index is updated.

A query counts as its single terms. When a page's score for a term goes from s₁ to s₂, the term's
curve gives the page's old and new rank. The page is viewed more or less often, and the pages in
between move by one rank (Pandey & Olston 2005). Sums over many ranks become integrals, in which
scores fall as the curve does; the paper lets them fall evenly within a piece of a curve.
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

#: Relative changes of a score up to this are ignored: gains grow with their square. Most terms of a
#: copy change by so little, because its length changes.
MIN_CHANGE = 0.1


def estimate_gains(
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
        old[0].start, old[0].term, old[1], new[0].start, new[0].term, new[1], frequency, curves,
        exponent, scale(exponent), gain,
    )  # fmt: skip
    return gain


@njit(cache=True, nogil=True)
def _measure(  # type: ignore[no-untyped-def]
    old_start, old_term, old_score, new_start, new_term, new_score, frequency, curves, a, c, gain
):
    """Visit the terms of each page's new copy, then those that it lost."""
    held = np.zeros(len(frequency))  # the score of each term in the old copy of the page
    for page in range(len(gain)):
        old, total = range(old_start[page], old_start[page + 1]), 0.0
        for i in old:
            held[old_term[i]] = old_score[i]
        for i in range(new_start[page], new_start[page + 1]):
            term, after = new_term[i], new_score[i]
            before, held[term] = held[term], 0.0
            if abs(after - before) > MIN_CHANGE * before:
                total += frequency[term] * move_gain(before, after, curves[term], a, c)
        for i in old:
            term = old_term[i]
            if held[term] > 0.0:
                total += frequency[term] * move_gain(held[term], 0.0, curves[term], a, c)
                held[term] = 0.0
        gain[page] = total


@njit(cache=True, nogil=True)
def move_gain(before, after, curve, a, c):  # type: ignore[no-untyped-def]
    """Gain of a page whose score for a term changes, if the term is asked for once.

    c·∫ (−I′(r))·(s₂ − S(r)) dr from r₂ to r₁, for a page that moves from rank r₁ to r₂: what the
    page gains and the pages between lose, or the reverse if it drops. Never negative: the scores of
    the pages between lie between s₁ and s₂. Computed in log ranks, where the curve and the view
    probability I are straight. `c` is `scale(a)`.
    """
    if curve[LOG_PAGES] == NO_PAGES:  # no page held the term: this page is the whole answer
        return c * after
    end = np.float64(curve[LOG_PAGES])
    then = log_rank(np.log(before), curve) if before > 0.0 else np.log(np.exp(end) + 1.0)
    now = log_rank(np.log(after), curve) if after > 0.0 else end
    up = now < then
    low, high = (now, then) if up else (then, now)
    first, last = np.exp(-a * low), np.exp(-a * high)
    views = first - last
    others = 0.0
    if high > end:  # the page had no rank: the last page moves
        others = (np.exp(-a * end) - last) * np.exp(curve[PIECES])
        high, last = end, np.exp(-a * end)
    top = first * _score(after if up else before, low, curve)
    bottom = last * _score(before if up else after, high, curve)
    others += _passed(low, top, high, bottom, curve, a)
    gain = views * after - others if up else others - views * after
    return c * (max(gain, 0.0) + (np.exp(-a * then) * after if before <= 0.0 else 0.0))


@njit(cache=True, nogil=True)
def _score(score, at, curve):  # type: ignore[no-untyped-def]
    """The curve's score at the rank of this score: the same, except beyond the ends."""
    return score if 0.0 < at < curve[LOG_PAGES] else np.exp(log_score(at, curve))


@njit(cache=True, nogil=True)
def _passed(low, top, high, bottom, curve, a):  # type: ignore[no-untyped-def]
    """∫ (−I′(r))·S(r) dr from log rank `low` to `high`, where I·S is `top` and `bottom`.

    Within a piece S falls as r^(−b), so the integral is a / (a + b) × the fall of I·S.
    """
    total, length = 0.0, np.float64(curve[LOG_PAGES]) / PIECES
    for piece in range(PIECES):
        knot = length * (piece + 1)
        if low >= min(knot, high):
            continue
        below = bottom if knot >= high else np.exp(curve[piece + 1] - a * knot)
        b = (curve[piece] - curve[piece + 1]) / length
        total += a / (a + b) * (top - below)
        low, top = knot, below
    return total
