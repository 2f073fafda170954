"""Temporal content similarity by dynamic time warping (§6.3, Figure 5).

Distance(p, e) = Σ ω(w) · DTW(Dyn(w, p), Dyn(w, e)) over the words of p's last copy; a word that e
lacks is 0 there. The weight of a page is 1 / (1 + d), where d is the distance divided by Σ ω(w) and
by the number of days; the paper does not say how to weigh. The recurrence is the usual one, which
Figure 5 misprints: D[i, j] = |x_i − y_j| + min(D[i−1, j], D[i, j−1], D[i−1, j−1]), where
|i − j| <= band (Sakoe & Chiba 1978).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.errors import BadInput
from recrawl.model import owners
from recrawl.papers.radinsky.relatedness.search import (
    INDEX_WORDS,
    MAX_CANDIDATES,
    as_neighbours,
    insert,
    search_all,
)

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, Neighbours
    from recrawl.papers.radinsky.series.word_series import WordSeries

BAND = 5  #: most days between two days that are matched
FRAME = 5  #: days in a frame; the mean of a frame stands for it in the lower bound


def nearest_by_dtw(
    words: WordSeries,
    k: int = 20,
    *,
    rows: IntArray | None = None,
    band: int = BAND,
    exact: bool = False,
) -> Neighbours:
    """The k of all pages nearest to each page, or to each of `rows`.

    Compares the candidates that share the words of highest TF-IDF, and warps them only where a
    lower bound from frames (Keogh & Pazzani 2000) allows them among the k; with `exact`, all pages.
    """
    if band < 0:
        raise BadInput(f"band must be 0 or more. Got {band}; try 5.")
    columns = (words.start, words.word, words.weight, words.level, words.slot)
    frames = _frames(words.series, band)
    begins, entries = words.inverted(np.ones(len(words.word), np.bool_))
    owner = owners(words.start)[entries]

    def search(some: IntArray, row: IntArray, value: FloatArray) -> None:
        rest = (*frames, begins, entries, owner, some, band, exact, row, value)
        _search(*columns, words.series, *rest)

    asked = np.arange(words.pages) if rows is None else np.asarray(rows, np.int64)
    row, value = search_all(search, asked, k)
    return as_neighbours(row, np.where(row >= 0, 1.0 / (1.0 - value), 0.0))


@njit(cache=True, nogil=True)
def _dtw(x, y, band, line):  # type: ignore[no-untyped-def]
    """Least sum of |x − y| over all matchings in order; `line` is scratch, len(y) + 1 values."""
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
    """Mean of each frame of each series, and the highest and lowest value within a band of it."""
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
def _lower_bound(mean, high, low, a, b, days):  # type: ignore[no-untyped-def]
    """No matching within the band costs less."""
    total = 0.0
    for f in range(mean.shape[1]):
        over = max(mean[a, f] - high[b, f], low[b, f] - mean[a, f])
        if over > 0:
            total += over * min(FRAME, days - f * FRAME)
    return total


@njit(cache=True, nogil=True)
def _from_constant(x, level):  # type: ignore[no-untyped-def]
    """Distance of x to a constant series; no matching costs less."""
    total = 0.0
    for i in range(len(x)):
        total += abs(x[i] - level)
    return total


@njit(cache=True, nogil=True)
def _cost(level, slot, series, a, b, days):  # type: ignore[no-untyped-def]
    """Distance of two words of which at most one moves; -1 if both do. b < 0: e lacks the word."""
    other = level[b] if b >= 0 else 0.0
    if slot[a] < 0 and (b < 0 or slot[b] < 0):
        return days * abs(level[a] - other)
    if b < 0 or slot[b] < 0:
        return _from_constant(series[slot[a]], other)
    if slot[a] < 0:
        return _from_constant(series[slot[b]], level[a])
    return -1.0


@njit(cache=True, nogil=True)
def _distance(  # type: ignore[no-untyped-def]
    start, word, weight, level, slot, series, mean, high, low, p, e, band, limit, pairs, line
):
    """Distance from p to e, or infinity once it exceeds `limit`."""
    days = series.shape[1]
    total, n_pairs = 0.0, 0
    b, end = start[e], start[e + 1]
    for a in range(start[p], start[p + 1]):
        if weight[a] <= 0:
            continue
        while b < end and word[b] < word[a]:
            b += 1
        mate = b if b < end and word[b] == word[a] else -1
        cost = _cost(level, slot, series, a, mate, days)
        if cost < 0:
            pairs[n_pairs, 0], pairs[n_pairs, 1] = a, mate
            n_pairs += 1
            cost = _lower_bound(mean, high, low, slot[a], slot[mate], days)
        total += weight[a] * cost
        if total > limit:
            return np.inf
    for at in range(n_pairs):
        a, mate = pairs[at, 0], pairs[at, 1]
        cost = _dtw(series[slot[a]], series[slot[mate]], band, line)
        total += weight[a] * (cost - _lower_bound(mean, high, low, slot[a], slot[mate], days))
        if total > limit:
            return np.inf
    return total


@njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    start, word, weight, level, slot, series, mean, high, low, begins, entries, owner,
    asked, band, exact, row, value,
):  # fmt: skip
    """Fill row and value (minus the distance per weight and day) of the pages asked."""
    pages, k, days = len(start) - 1, row.shape[1], series.shape[1]
    saved = np.zeros(pages)
    pairs = np.empty((np.diff(start).max() if pages else 0, 2), np.int64)
    line = np.full(days + 1, np.inf)
    for i in range(len(asked)):
        p = asked[i]
        own = np.arange(start[p], start[p + 1])
        own = own[weight[own] > 0]
        scale = max(weight[own].sum() * days, 1e-300)
        if exact:
            candidates = np.arange(pages)
            candidates = candidates[candidates != p] if len(own) else candidates[:0]
        else:
            candidates = _candidates(word, weight, level, begins, entries, owner, own, p, saved)
        n = 0
        for e in candidates:
            limit = np.inf if exact or n < k else -value[i, k - 1] * scale
            distance = _distance(
                start, word, weight, level, slot, series, mean, high, low,
                p, e, band, limit, pairs, line,
            )  # fmt: skip
            if distance < np.inf:
                n = insert(row[i], value[i], n, e, -distance / scale)


@njit(cache=True, nogil=True)
def _candidates(word, weight, level, begins, entries, owner, own, p, saved):  # type: ignore[no-untyped-def]
    """The pages whose shared words bring them nearest, judged by the mean of each word."""
    saved[:] = 0.0
    for a in own[np.argsort(-weight[own])][:INDEX_WORDS]:
        for at in range(begins[word[a]], begins[word[a] + 1]):
            saving = level[a] - abs(level[a] - level[entries[at]])
            saved[owner[at]] += weight[a] * saving
    saved[p] = -np.inf
    near = np.flatnonzero(saved > 0)
    return near[np.argsort(-saved[near])][:MAX_CANDIDATES]
