"""What does a refresh add to the usefulness of answers? An estimate, made as the index is updated.

When a page's score for a query goes from s₁ to s₂, the query's curve gives the page's old and new
rank. The page is viewed more or less often, and the pages in between move by one rank (Pandey &
Olston 2005). Sums over many ranks become integrals, in which scores fall as the curve does. The
paper takes the single terms of queries, and lets scores fall evenly within a piece of a curve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.search.curves import LOG_PAGES, NO_PAGES, PIECES, log_rank, log_score
from recrawl.search.query_scores import sum_terms
from recrawl.search.views import DEFAULT_EXPONENT, scale, view_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray
    from recrawl.search.query_scores import QueryLists
    from recrawl.search.terms import TermCounts

#: Relative changes of a score up to this are ignored: gains grow with their square. Most scores of
#: a copy change by so little, because its length changes.
MIN_CHANGE = 0.1


def estimate_gains(
    old: tuple[TermCounts, FloatArray],
    new: tuple[TermCounts, FloatArray],
    lists: QueryLists,
    frequency: FloatArray,
    curves: NDArray[np.float32],
    exponent: float = DEFAULT_EXPONENT,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The gain of each refresh, which replaces row i of the old copies by row i of the new ones.

    Also by how much the views and the visibility of the page change. `old` and `new` are terms and
    their scores; `frequency` is how often each query is asked.
    """
    gain = np.zeros((3, len(new[0].length)))
    _measure(
        (old[0].start, old[0].term, old[1]), (new[0].start, new[0].term, new[1]), lists.columns,
        frequency, curves, exponent, scale(exponent), gain,
    )  # fmt: skip
    return gain[0], gain[1], gain[2]


@njit(cache=True, nogil=True)
def _measure(old, new, queries, frequency, curves, a, c, gain):  # type: ignore[no-untyped-def]
    """Add up what queries contribute to the gain, the views and the visibility of each page."""
    terms, most = len(queries[0]) - 1, len(queries[1])
    own, moves = np.empty(terms, np.int32), np.zeros(terms, np.bool_)
    before, after = np.zeros((2, terms))  # the score of each term in both copies
    query, scores = np.empty(most, np.int64), np.empty((most, 2))  # those that move
    for page in range(gain.shape[1]):
        n = _hold(page, old, new, before, after, own, moves)
        found = _compare(own[:n], moves, before, after, queries, query, scores)
        for i in range(found):
            often, (s1, s2) = frequency[query[i]] * c, scores[i]
            gained, then, now = _move(s1, s2, curves[query[i]], a)
            gain[0, page] += often * gained
            gain[1, page] += often * (now - then)
            gain[2, page] += often * (now * s2 - then * s1)
        for t in own[:n]:
            before[t] = after[t] = 0.0
            moves[t] = False


@njit(cache=True, nogil=True)
def _compare(own, moves, before, after, queries, found, scores):  # type: ignore[no-untyped-def]
    """Write the queries for which the page's score moves, and both scores; say how many they are.

    If the score of no term changes by more than `MIN_CHANGE`, the sum of them does not either.
    """
    begin, query, start, term, weight = queries
    n = 0
    for t in own:
        for at in range(begin[t], begin[t + 1]):
            first, last = start[at], start[at + 1]
            if _has_move(first, last, term, moves):
                s1 = sum_terms(first, last, term, before) * weight[at]
                s2 = sum_terms(first, last, term, after) * weight[at]
                if abs(s2 - s1) > MIN_CHANGE * s1:
                    found[n], scores[n, 0], scores[n, 1] = query[at], s1, s2
                    n += 1
    return n


@njit(cache=True, nogil=True)
def _hold(page, old, new, before, after, own, moves):  # type: ignore[no-untyped-def]
    """Enter the scores of a page's terms; list the terms, and say which of them move."""
    old_start, old_term, old_score = old
    new_start, new_term, new_score = new
    n = 0
    for i in range(old_start[page], old_start[page + 1]):
        before[old_term[i]] = old_score[i]
    for i in range(new_start[page], new_start[page + 1]):
        t = new_term[i]
        after[t], own[n] = new_score[i], t
        moves[t] = abs(after[t] - before[t]) > MIN_CHANGE * before[t]
        n += 1
    for i in range(old_start[page], old_start[page + 1]):
        t = old_term[i]
        if after[t] <= 0.0 and not moves[t]:
            own[n], moves[t] = t, True
            n += 1
    return n


@njit(cache=True, nogil=True)
def _has_move(first, last, term, moves):  # type: ignore[no-untyped-def]
    while first < last and not moves[term[first]]:
        first += 1
    return first < last


@njit(cache=True, nogil=True)
def move_gain(before, after, curve, a, c):  # type: ignore[no-untyped-def]
    """Gain of a page whose score for a query changes, if the query is asked once.

    c·∫ (−I′(r))·(s₂ − S(r)) dr from r₂ to r₁, for a page that moves from rank r₁ to r₂: what the
    page gains and the pages between lose, or the reverse if it drops. Never negative: the scores of
    the pages between lie between s₁ and s₂. Computed in log ranks, where the curve and the view
    probability I are straight. `c` is `scale(a)`.
    """
    return c * _move(before, after, curve, a)[0]


@njit(cache=True, nogil=True)
def _move(before, after, curve, a):  # type: ignore[no-untyped-def]
    """The gain of a move, and I before and after it, all / c."""
    if curve[LOG_PAGES] == NO_PAGES:  # no page matched: this page is the whole answer
        return after, view_at(before, curve, a), view_at(after, curve, a)
    end = np.float64(curve[LOG_PAGES])
    then = log_rank(np.log(before), curve) if before > 0.0 else np.log(np.exp(end) + 1.0)
    now = log_rank(np.log(after), curve) if after > 0.0 else end
    p_then, p_now = np.exp(-a * then), np.exp(-a * now)
    up = now < then
    low, high = (now, then) if up else (then, now)
    first, last = (p_now, p_then) if up else (p_then, p_now)
    views = first - last
    others = 0.0
    if high > end:  # the page had no rank: the last page moves
        bottom = np.exp(-a * end)
        others = (bottom - last) * np.exp(curve[PIECES])
        high, last = end, bottom
    top = first * _score(after if up else before, low, curve)
    bottom = last * _score(before if up else after, high, curve)
    others += _passed(low, top, high, bottom, curve, a)
    gain = views * after - others if up else others - views * after
    gain = max(gain, 0.0) + (p_then * after if before <= 0.0 else 0.0)
    return gain, p_then if before > 0.0 else 0.0, p_now if after > 0.0 else 0.0


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
