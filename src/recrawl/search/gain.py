"""What does a refresh add to the usefulness of answers? Approximated while the index is updated.

Every query counts as its single terms. Where a page's score for a term goes from s₁ to s₂, curves
tell the ranks it goes between; it is looked at more or less often, and the pages between move by
one rank (Pandey & Olston 2005). Sums over many ranks become integrals, in two forms: "delta" takes
scores to fall evenly within a piece of a curve, as the paper does, "power" as the curve has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

from recrawl.errors import BadInput
from recrawl.search.curves import LENGTH, NONE, PIECES, log_rank, log_score, rank_of, score_at
from recrawl.search.inspection import EXPONENT, scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray
    from recrawl.search.terms import Counts

FORMS: Final = ("delta", "power")
EXACT = 30  #: ranks that are summed one by one
#: Part of a score whose change does not matter: gains grow with its square. Most terms of a copy
#: change by as little, because its length does.
SMALL = 0.1


def measured(
    old: tuple[Counts, FloatArray],
    new: tuple[Counts, FloatArray],
    asked: FloatArray,
    curves: NDArray[np.float32],
    *,
    form: str = "power",
    exponent: float = EXPONENT,
) -> FloatArray:
    """The gain of each refresh, in which row i of the old copies becomes row i of the new ones.

    Beside the copies are the scores of their terms; `asked` is how often each term is asked for.
    """
    if form not in FORMS:
        raise BadInput(f"form must be one of {', '.join(FORMS)}. Got {form!r}.")
    gain = np.zeros(len(new[0].length))
    _measure(
        old[0].start, old[0].term, old[1], new[0].start, new[0].term, new[1], asked, curves,
        exponent, scale(exponent), form == "power", gain,
    )  # fmt: skip
    return gain


def moves(
    before: FloatArray,
    after: FloatArray,
    curve: NDArray[np.float32],
    *,
    form: str = "power",
    exponent: float = EXPONENT,
) -> FloatArray:
    """The same for moves of single pages between two scores in the answer to one term."""
    sure = zip(before.tolist(), after.tolist(), strict=True)
    c = scale(exponent)
    return np.array([_move(a, b, curve, exponent, c, form == "power") for a, b in sure])


@njit(cache=True, nogil=True)
def _measure(  # type: ignore[no-untyped-def]
    old_start, old_term, old_score, new_start, new_term, new_score, asked, curves, a, c, power, gain
):
    """Go through the terms of the new copy of each page, then through those that it lost."""
    held = np.zeros(len(asked))  # the score of each term in the copy at hand
    for page in range(len(gain)):
        old, total = range(old_start[page], old_start[page + 1]), 0.0
        for i in old:
            held[old_term[i]] = old_score[i]
        for i in range(new_start[page], new_start[page + 1]):
            term, after = new_term[i], new_score[i]
            before, held[term] = held[term], 0.0
            if abs(after - before) > SMALL * before:
                total += asked[term] * _move(before, after, curves[term], a, c, power)
        for i in old:
            term = old_term[i]
            if held[term] > 0.0:
                total += asked[term] * _move(held[term], 0.0, curves[term], a, c, power)
                held[term] = 0.0
        gain[page] = total


@njit(cache=True, nogil=True)
def _move(before, after, curve, a, c, power):  # type: ignore[no-untyped-def]
    """Gain of one move, in a query asked once."""
    if curve[LENGTH] == NONE:  # no page held the term: this one is the whole answer
        return c * after
    if power:
        return c * _continuous(before, after, curve, a)
    many = round(np.exp(curve[LENGTH]))
    then = round(rank_of(before, curve)) if before > 0.0 else many + 1
    now = round(rank_of(after, curve)) if after > 0.0 else many + 1
    own = (_look(now, a) if after > 0.0 else 0.0) - (_look(then, a) if before > 0.0 else 0.0)
    return c * (own * after + _others(then, now, many, curve, a))


@njit(cache=True, nogil=True)
def _continuous(before, after, curve, a):  # type: ignore[no-untyped-def]
    """Of a page that goes from rank r₁ to r₂: ∫ (−I′(r))·(s₂ − S(r)) dr from r₂ to r₁.

    It is what the page gains and the pages between lose, or the reverse where it drops. Never
    negative: on either way the pages between are scored between s₂ and s₁. In logarithms of ranks,
    where the curve and I are straight.
    """
    end = np.float64(curve[LENGTH])
    then = log_rank(np.log(before), curve) if before > 0.0 else np.log(np.exp(end) + 1.0)
    now = log_rank(np.log(after), curve) if after > 0.0 else end
    up = now < then
    low, high = (now, then) if up else (then, now)
    first, last = np.exp(-a * low), np.exp(-a * high)
    looks = first - last
    others = 0.0
    if high > end:  # it was in no place: the last page moves
        others = (np.exp(-a * end) - last) * np.exp(curve[PIECES])
        high, last = end, np.exp(-a * end)
    top = first * _score(after if up else before, low, curve)
    bottom = last * _score(before if up else after, high, curve)
    others += _passed(low, top, high, bottom, curve, a)
    gain = looks * after - others if up else others - looks * after
    return max(gain, 0.0) + (np.exp(-a * then) * after if before <= 0.0 else 0.0)


@njit(cache=True, nogil=True)
def _score(score, at, curve):  # type: ignore[no-untyped-def]
    """The score of the curve where this score has its rank: the same, but beyond the ends."""
    return score if 0.0 < at < curve[LENGTH] else np.exp(log_score(at, curve))


@njit(cache=True, nogil=True)
def _passed(low, top, high, bottom, curve, a):  # type: ignore[no-untyped-def]
    """∫ (−I′(r))·S(r) dr from log rank `low` to `high`, where I·S is `top` and `bottom`.

    In a piece S falls as r^(−b), so that it is a / (a + b) × the fall of I·S.
    """
    total, length = 0.0, np.float64(curve[LENGTH]) / PIECES
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
def _look(rank, a):  # type: ignore[no-untyped-def]
    return float(rank) ** -a


@njit(cache=True, nogil=True)
def _others(then, now, many, curve, a):  # type: ignore[no-untyped-def]
    """Pages between move up by one rank where the page drops, else down."""
    if then < now:
        last = min(now, many)
        if last <= then:
            return 0.0
        middle = _falls(then + 1, last - 1, curve, a)
        ends = _look(then, a) * score_at(then + 1, curve) - _look(last, a) * score_at(last, curve)
        return ends - middle
    if then > now:
        middle = _falls(now + 1, then - 1, curve, a)
        ends = _look(then, a) * score_at(then - 1, curve) - _look(now, a) * score_at(now, curve)
        return ends + middle
    return 0.0


@njit(cache=True, nogil=True)
def _falls(first, last, curve, a):  # type: ignore[no-untyped-def]
    """Σ r^(−a) × the fall of the score from rank to rank, even within a piece; first to last."""
    total, begin, end = 0.0, first, curve[LENGTH]
    for piece in range(PIECES):
        low, high = np.exp(end * piece / PIECES), np.exp(end * (piece + 1) / PIECES)
        stop = last if piece == PIECES - 1 else min(last, int(np.floor(high)))
        if stop >= begin:
            drop = (np.exp(curve[piece]) - np.exp(curve[piece + 1])) / max(high - low, 1.0)
            many = _sum(begin, stop, a) if stop - begin < EXACT else _integral(begin, stop, a)
            total += drop * many
            begin = stop + 1
    return total


@njit(cache=True, nogil=True)
def _sum(first, last, a):  # type: ignore[no-untyped-def]
    total = 0.0
    for rank in range(first, last + 1):
        total += _look(rank, a)
    return total


@njit(cache=True, nogil=True)
def _integral(first, last, a):  # type: ignore[no-untyped-def]
    """Σ r^(−a) from first to last, as the integral from ½ before to ½ after."""
    return ((first - 0.5) ** (1.0 - a) - (last + 0.5) ** (1.0 - a)) / (a - 1.0)
