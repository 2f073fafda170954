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
from recrawl.search.curves import LENGTH, NONE, PIECES, rank_of, score_at
from recrawl.search.inspection import EXPONENT, scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.content.terms import Counts
    from recrawl.model import FloatArray

FORMS: Final = ("delta", "power")
EXACT = 30  #: ranks that are summed one by one
#: Part of a score whose change does not matter: gains grow with its square. Most terms of a copy
#: change by as little, because its length does.
SMALL = 0.03


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
    """Walk both copies of each page term by term, as the postings of an index are changed."""
    for page in range(len(gain)):
        i, j = old_start[page], new_start[page]
        i_end, j_end = old_start[page + 1], new_start[page + 1]
        while i < i_end or j < j_end:
            left = old_term[i] if i < i_end else np.int32(2**31 - 1)
            right = new_term[j] if j < j_end else np.int32(2**31 - 1)
            term = min(left, right)
            before = after = 0.0
            if left == term:
                before = old_score[i]
                i += 1
            if right == term:
                after = new_score[j]
                j += 1
            if abs(after - before) > SMALL * before and asked[term] > 0.0:
                gain[page] += asked[term] * _move(before, after, curves[term], a, c, power)


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
    negative: on either way the pages between are scored between s₂ and s₁.
    """
    end = np.exp(curve[LENGTH])
    then = rank_of(before, curve) if before > 0.0 else end + 1.0
    now = rank_of(after, curve) if after > 0.0 else end
    low, high = min(then, now), max(then, now)
    others = _passed(low, min(high, end), curve, a)
    if high > end:
        others += (_look(end, a) - _look(high, a)) * score_at(end, curve)
    looks = _look(low, a) - _look(high, a)
    gain = looks * after - others if now < then else others - looks * after
    return max(gain, 0.0) + (_look(high, a) * after if before <= 0.0 else 0.0)


@njit(cache=True, nogil=True)
def _passed(first, last, curve, a):  # type: ignore[no-untyped-def]
    """∫ (−I′(r))·S(r) dr, piece by piece; S falls as A·r^(−b) in each."""
    total, length = 0.0, curve[LENGTH] / PIECES
    for piece in range(PIECES):
        low = max(first, np.exp(length * piece))
        high = min(last, np.exp(length * (piece + 1)))
        if high > low:
            b = (curve[piece] - curve[piece + 1]) / length
            level = np.exp(curve[piece] + b * length * piece)
            total += level * a / (a + b) * (low ** -(a + b) - high ** -(a + b))
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
