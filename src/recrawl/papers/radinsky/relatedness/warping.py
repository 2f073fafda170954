"""Which pages move as this one does, if time may stretch? Dynamic time warping of their words.

Distance(p, e) = Σ ω(w) · DTW(Dyn(w, p), Dyn(w, e)) over the words of p's last copy; a word that e
has not is 0 there. As a weight it is 1 / (1 + d), d being the distance by Σ ω(w) and by days, for
the paper does not say how to weigh by it (Radinsky & Bennett 2013; the recurrence of their Figure
5 put right).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.errors import BadInput
from recrawl.papers.radinsky.relatedness.correlation import place
from recrawl.papers.radinsky.series.word_series import best, trimmed

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, Neighbours
    from recrawl.papers.radinsky.series.word_series import Dynamics

BAND = 5  #: days that may lie between two that are matched
FRAME = 5  #: days of a frame, whose mean stands for them in a first comparison
CANDIDATES = 400
WORDS = 64


def dtw(x: FloatArray, y: FloatArray, band: int | None = None) -> float:
    """The least sum of |x − y| over all ways to match the two in order, each value at least once.

    With a `band` only days so far apart are matched (Sakoe & Chiba 1978), or as far as the lengths
    of the series differ.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if not len(x) or not len(y) or (band is not None and band < 0):
        raise BadInput(f"dtw needs two series and a band >= 0. Got {len(x)}, {len(y)} and {band}.")
    wide = max(len(x), len(y)) if band is None else max(band, abs(len(x) - len(y)))
    return float(_warp(x, y, wide, np.full(len(y) + 1, np.inf)))


def warped(dynamics: Dynamics, k: int = 20, *, band: int = BAND, exact: bool = False) -> Neighbours:
    """The k pages nearest to each.

    Pages that share the words of highest TF-IDF are looked at, and warped only where a lower bound
    from frames (Keogh & Pazzani 2000) lets them be among the k; with `exact` all pages are.
    """
    if band < 0:
        raise BadInput(f"band must be 0 or more. Got {band}; try 5.")
    columns = (dynamics.start, dynamics.word, dynamics.weight, dynamics.level, dynamics.slot)
    frames = _frames(dynamics.series, band)
    begins, places = dynamics.index(np.ones(len(dynamics.word), np.bool_))
    owner = np.repeat(np.arange(dynamics.pages), np.diff(dynamics.start))[places]

    def search(begin: int, end: int, row: IntArray, value: FloatArray) -> None:
        rest = (*frames, begins, places, owner, begin, end, band, exact, row, value)
        _search(*columns, dynamics.series, *rest)

    row, value = best(search, dynamics.pages, k)
    return trimmed(row, np.where(row >= 0, 1.0 / (1.0 - value), 0.0))


@njit(cache=True, nogil=True)
def _warp(x, y, band, line):  # type: ignore[no-untyped-def]
    line[:] = np.inf
    line[0] = 0.0
    for i in range(len(x)):
        first, last = max(0, i - band), min(len(y), i + band + 1)
        corner = line[first]
        line[first] = np.inf
        for j in range(first, last):
            above = line[j + 1]
            line[j + 1] = abs(x[i] - y[j]) + min(above, line[j], corner)
            corner = above
    return line[len(y)]


@njit(cache=True, nogil=True)
def _frames(series, band):  # type: ignore[no-untyped-def]
    """Of each frame of each series its mean, and the highest and lowest within a band of it."""
    days = series.shape[1]
    frames = (days + FRAME - 1) // FRAME
    shape = (len(series), frames)
    mean, high, low = np.empty(shape), np.empty(shape), np.empty(shape)
    for row in range(len(series)):
        for f in range(frames):
            begin, end = f * FRAME, min((f + 1) * FRAME, days)
            mean[row, f] = series[row, begin:end].mean()
            wide = series[row, max(begin - band, 0) : min(end + band, days)]
            high[row, f], low[row, f] = wide.max(), wide.min()
    return mean, high, low


@njit(cache=True, nogil=True)
def _at_least(mean, high, low, a, b, days):  # type: ignore[no-untyped-def]
    """No warping within the band costs less."""
    total = 0.0
    for f in range(mean.shape[1]):
        over = max(mean[a, f] - high[b, f], low[b, f] - mean[a, f])
        if over > 0:
            total += over * min(FRAME, days - f * FRAME)
    return total


@njit(cache=True, nogil=True)
def _against(x, level):  # type: ignore[no-untyped-def]
    """The distance to a series that does not move: every way to match costs that at least."""
    total = 0.0
    for i in range(len(x)):
        total += abs(x[i] - level)
    return total


@njit(cache=True, nogil=True)
def _cost(level, slot, series, a, b, days):  # type: ignore[no-untyped-def]
    """The distance of two words of which at most one moves; -1 where both do. b < 0: not there."""
    other = level[b] if b >= 0 else 0.0
    if slot[a] < 0 and (b < 0 or slot[b] < 0):
        return days * abs(level[a] - other)
    if b < 0 or slot[b] < 0:
        return _against(series[slot[a]], other)
    if slot[a] < 0:
        return _against(series[slot[b]], level[a])
    return -1.0


@njit(cache=True, nogil=True)
def _distance(  # type: ignore[no-untyped-def]
    start, word, weight, level, slot, series, mean, high, low, p, e, band, limit, pairs, line
):
    """The distance from p to e, or infinity if it must be more than `limit`."""
    days = series.shape[1]
    total, both = 0.0, 0
    b, end = start[e], start[e + 1]
    for a in range(start[p], start[p + 1]):
        if weight[a] <= 0:
            continue
        while b < end and word[b] < word[a]:
            b += 1
        mate = b if b < end and word[b] == word[a] else -1
        cost = _cost(level, slot, series, a, mate, days)
        if cost < 0:
            pairs[both, 0], pairs[both, 1] = a, mate
            both += 1
            cost = _at_least(mean, high, low, slot[a], slot[mate], days)
        total += weight[a] * cost
        if total > limit:
            return np.inf
    for at in range(both):
        a, mate = pairs[at, 0], pairs[at, 1]
        cost = _warp(series[slot[a]], series[slot[mate]], band, line)
        total += weight[a] * (cost - _at_least(mean, high, low, slot[a], slot[mate], days))
        if total > limit:
            return np.inf
    return total


@njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    start, word, weight, level, slot, series, mean, high, low, begins, places, owner,
    begin, end, band, exact, row, value,
):  # fmt: skip
    """Fill row and value (minus the distance by weight and day) of the pages from begin to end."""
    pages, k, days = len(start) - 1, row.shape[1], series.shape[1]
    saved = np.zeros(pages)
    pairs = np.empty((np.diff(start).max() if pages else 0, 2), np.int64)
    line = np.full(days + 1, np.inf)
    for p in range(begin, end):
        mine = np.arange(start[p], start[p + 1])
        mine = mine[weight[mine] > 0]
        scale = max(weight[mine].sum() * days, 1e-300)
        if exact:
            order = np.arange(pages)
            order = order[order != p] if len(mine) else order[:0]
        else:
            order = _candidates(word, weight, level, begins, places, owner, mine, p, saved)
        found = 0
        for e in order:
            limit = np.inf if exact or found < k else -value[p - begin, k - 1] * scale
            far = _distance(
                start, word, weight, level, slot, series, mean, high, low,
                p, e, band, limit, pairs, line,
            )  # fmt: skip
            if far < np.inf:
                found = place(row[p - begin], value[p - begin], found, e, -far / scale)


@njit(cache=True, nogil=True)
def _candidates(word, weight, level, begins, places, owner, mine, p, saved):  # type: ignore[no-untyped-def]
    """The pages whose shared words bring them nearest, as far as their means tell."""
    saved[:] = 0.0
    for a in mine[np.argsort(-weight[mine])][:WORDS]:
        for at in range(begins[word[a]], begins[word[a] + 1]):
            near = level[a] - abs(level[a] - level[places[at]])
            saved[owner[at]] += weight[a] * near
    saved[p] = -np.inf
    near = np.flatnonzero(saved > 0)
    return near[np.argsort(-saved[near])][:CANDIDATES]
