"""What does a refresh add to the usefulness of answers? An estimate, made as the index is updated.

A query counts as its single terms. When a page's score for a term goes from s₁ to s₂, the term's
curve gives the page's old and new rank. The page is viewed more or less often, and the pages in
between move by one rank (Pandey & Olston 2005). Sums over many ranks become integrals, in two
forms: "delta" lets scores fall evenly within a piece of a curve, as the paper does; "power" lets
them fall as the curve does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

from recrawl.errors import BadInput
from recrawl.search.curves import (
    LOG_PAGES,
    NO_PAGES,
    PIECES,
    log_rank,
    log_score,
    rank_of,
    score_at,
)
from recrawl.search.views import DEFAULT_EXPONENT, scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray
    from recrawl.search.terms import TermCounts

FORMS: Final = ("delta", "power")
MAX_SUMMED_RANKS = 30  #: ranks that are summed one by one; more are integrated
#: Relative changes of a score up to this are ignored: gains grow with their square. Most terms of a
#: copy change by so little, because its length changes.
MIN_CHANGE = 0.1


def estimate_gains(
    old: tuple[TermCounts, FloatArray],
    new: tuple[TermCounts, FloatArray],
    frequency: FloatArray,
    curves: NDArray[np.float32],
    *,
    form: str = "power",
    exponent: float = DEFAULT_EXPONENT,
) -> FloatArray:
    """The gain of each refresh, which replaces row i of the old copies by row i of the new ones.

    `old` and `new` are terms and their scores; `frequency` is how often each term is asked for.
    """
    if form not in FORMS:
        raise BadInput(f"form must be one of {', '.join(FORMS)}. Got {form!r}.")
    gain = np.zeros(len(new[0].length))
    _measure(
        old[0].start, old[0].term, old[1], new[0].start, new[0].term, new[1], frequency,
        curves,
        exponent, scale(exponent), form == "power", gain,
    )  # fmt: skip
    return gain


@njit(cache=True, nogil=True)
def _measure(  # type: ignore[no-untyped-def]
    old_start, old_term, old_score, new_start, new_term, new_score, frequency, curves, a, c, power,
    gain,
):  # fmt: skip
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
                total += frequency[term] * move_gain(before, after, curves[term], a, c, power)
        for i in old:
            term = old_term[i]
            if held[term] > 0.0:
                total += frequency[term] * move_gain(held[term], 0.0, curves[term], a, c, power)
                held[term] = 0.0
        gain[page] = total


@njit(cache=True, nogil=True)
def move_gain(before, after, curve, a, c, power):  # type: ignore[no-untyped-def]
    """Gain of one page whose score for a term changes, if the term is asked for once.

    `c` is `scale(a)`.
    """
    if curve[LOG_PAGES] == NO_PAGES:  # no page held the term: this page is the whole answer
        return c * after
    if power:
        return c * _continuous(before, after, curve, a)
    pages = round(np.exp(curve[LOG_PAGES]))
    then = round(rank_of(before, curve)) if before > 0.0 else pages + 1
    now = round(rank_of(after, curve)) if after > 0.0 else pages + 1
    own = (_view(now, a) if after > 0.0 else 0.0) - (_view(then, a) if before > 0.0 else 0.0)
    return c * (own * after + _others(then, now, pages, curve, a))


@njit(cache=True, nogil=True)
def _continuous(before, after, curve, a):  # type: ignore[no-untyped-def]
    """∫ (−I′(r))·(s₂ − S(r)) dr from r₂ to r₁, for a page that moves from rank r₁ to r₂.

    What the page gains and the pages between lose, or the reverse if it drops. Never negative: the
    scores of the pages between lie between s₁ and s₂. Computed in log ranks, where the curve and
    the view probability I are straight.
    """
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
    return max(gain, 0.0) + (np.exp(-a * then) * after if before <= 0.0 else 0.0)


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


@njit(cache=True, nogil=True)
def _view(rank, a):  # type: ignore[no-untyped-def]
    return float(rank) ** -a


@njit(cache=True, nogil=True)
def _others(then, now, pages, curve, a):  # type: ignore[no-untyped-def]
    """What the pages between gain: they move up by one rank if the page drops, else down."""
    if then < now:
        last = min(now, pages)
        if last <= then:
            return 0.0
        middle = _falls(then + 1, last - 1, curve, a)
        ends = _view(then, a) * score_at(then + 1, curve) - _view(last, a) * score_at(last, curve)
        return ends - middle
    if then > now:
        middle = _falls(now + 1, then - 1, curve, a)
        ends = _view(then, a) * score_at(then - 1, curve) - _view(now, a) * score_at(now, curve)
        return ends + middle
    return 0.0


@njit(cache=True, nogil=True)
def _falls(first, last, curve, a):  # type: ignore[no-untyped-def]
    """Σ r^(−a) × the fall of the score at rank r, from first to last; even within a piece."""
    total, begin, end = 0.0, first, curve[LOG_PAGES]
    for piece in range(PIECES):
        low, high = np.exp(end * piece / PIECES), np.exp(end * (piece + 1) / PIECES)
        stop = last if piece == PIECES - 1 else min(last, int(np.floor(high)))
        if stop >= begin:
            drop = (np.exp(curve[piece]) - np.exp(curve[piece + 1])) / max(high - low, 1.0)
            summed = stop - begin < MAX_SUMMED_RANKS
            total += drop * (_sum(begin, stop, a) if summed else _integral(begin, stop, a))
            begin = stop + 1
    return total


@njit(cache=True, nogil=True)
def _sum(first, last, a):  # type: ignore[no-untyped-def]
    total = 0.0
    for rank in range(first, last + 1):
        total += _view(rank, a)
    return total


@njit(cache=True, nogil=True)
def _integral(first, last, a):  # type: ignore[no-untyped-def]
    """Σ r^(−a) from first to last, as the integral from ½ before to ½ after."""
    return ((first - 0.5) ** (1.0 - a) - (last + 0.5) ** (1.0 - a)) / (a - 1.0)
