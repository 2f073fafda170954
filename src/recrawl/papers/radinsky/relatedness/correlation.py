"""Which pages move as this one does, perhaps some days earlier? Cross-correlation of their words.

Similarity(p, e) = Σ ω(w) · max over lags of the correlation of Dyn(w, p) with Dyn(w, e) that many
days before, over Σ ω(w), so that a page is 1 to itself (Radinsky & Bennett 2013). Sums are over the
words of p's last copy that moved; the others correlate with nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.errors import BadInput
from recrawl.papers.radinsky.series.word_series import best, trimmed

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, Neighbours
    from recrawl.papers.radinsky.series.word_series import Dynamics

LAGS = (0, 7)  #: days that a page may be ahead: (1, 7) asks for those that lead
CANDIDATES = 400  #: pages that are looked at for each: those that share most moving words with it
WORDS = 64  #: of a page by which these are found: those of the highest TF-IDF


def cross_correlation(x: FloatArray, y: FloatArray, lags: tuple[int, int] = LAGS) -> FloatArray:
    """Correlation of x with y so many days before, for each lag; a constant correlates with none.

    Divided by the length of the series at every lag, so that long lags count less.
    """
    lags = checked(lags)
    found: FloatArray = _at_lags(
        _standard(np.asarray(x, float)), _standard(np.asarray(y, float)), *lags
    )
    return found


def checked(lags: tuple[int, int]) -> tuple[int, int]:
    """Refuse lags that are none."""
    if not 0 <= lags[0] <= lags[1]:
        raise BadInput(f"lags must be two days, 0 <= first <= last. Got {lags}; try (0, 7).")
    return lags


def correlated(
    dynamics: Dynamics, k: int = 20, *, lags: tuple[int, int] = LAGS, exact: bool = False
) -> Neighbours:
    """The k pages most similar to each; fewer where no others have words that move along.

    Pages that share the moving words of highest TF-IDF are looked at first, and none that cannot be
    among the k; with `exact` all are looked at.
    """
    least, most = checked(lags)
    z = _rows(dynamics.series)
    columns = (dynamics.start, dynamics.word, dynamics.weight, dynamics.slot)
    owner = np.repeat(np.arange(dynamics.pages), np.diff(dynamics.start))
    moves = dynamics.slot >= 0
    total = np.bincount(owner[moves], dynamics.weight[moves], minlength=dynamics.pages)
    begins, places = dynamics.index(moves)
    reach = (dynamics.pages, np.iinfo(np.int64).max) if exact else (CANDIDATES, WORDS)

    def search(begin: int, end: int, row: IntArray, value: FloatArray) -> None:
        _search(*columns, z, begins, owner[places], begin, end, least, most, *reach, row, value)

    row, value = best(search, dynamics.pages, k)
    return trimmed(row, value / np.maximum(total, 1e-300)[:, None])


@njit(cache=True, nogil=True)
def _standard(x):  # type: ignore[no-untyped-def]
    """Mean 0, and length 1; all 0 for a constant."""
    out = x - x.mean()
    size = np.sqrt((out * out).sum())
    # What rounding leaves of a constant is none.
    if size <= 1e-12 * (1.0 + np.abs(x).max()) * len(x):
        return np.zeros_like(out)
    return out / size


@njit(cache=True, nogil=True)
def _rows(series):  # type: ignore[no-untyped-def]
    out = np.empty_like(series)
    for row in range(len(series)):
        out[row] = _standard(series[row].astype(np.float64))
    return out


@njit(cache=True, nogil=True, fastmath=True)
def _dot(x, y, lag):  # type: ignore[no-untyped-def]
    total = x[0] * 0
    for i in range(len(x) - lag):
        total += x[i + lag] * y[i]
    return total


@njit(cache=True, nogil=True)
def _at_lags(x, y, least, most):  # type: ignore[no-untyped-def]
    out = np.zeros(most - least + 1)
    for lag in range(least, min(most, len(x) - 1) + 1):
        out[lag - least] = _dot(x, y, lag)
    return out


@njit(cache=True, nogil=True)
def _similarity(start, word, weight, slot, z, p, e, least, most):  # type: ignore[no-untyped-def]
    """Σ ω · max correlation over the words of p that move in both."""
    total = 0.0
    b, end = start[e], start[e + 1]
    for a in range(start[p], start[p + 1]):
        if slot[a] < 0 or weight[a] <= 0:
            continue
        while b < end and word[b] < word[a]:
            b += 1
        if b < end and word[b] == word[a] and slot[b] >= 0:
            top = -1.0
            for lag in range(least, min(most, z.shape[1] - 1) + 1):
                top = max(top, _dot(z[slot[a]], z[slot[b]], lag))
            total += weight[a] * top
    return total


@njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    start,
    word,
    weight,
    slot,
    z,
    begins,
    owner,
    begin,
    end,
    least,
    most,
    candidates,
    words,
    row,
    value,
):
    """Fill row and value of the pages from begin to end with their most similar pages."""
    pages, k = len(start) - 1, row.shape[1]
    bound = np.zeros(pages)
    for p in range(begin, end):
        mine = np.arange(start[p], start[p + 1])
        mine = mine[(slot[mine] >= 0) & (weight[mine] > 0)]
        mine = mine[np.argsort(-weight[mine])]
        rest = weight[mine[words:]].sum()
        bound[:] = 0.0
        for a in mine[:words]:
            for at in range(begins[word[a]], begins[word[a] + 1]):
                bound[owner[at]] += weight[a]
        bound[p] = 0.0
        near = np.flatnonzero(bound)
        order = near[np.argsort(-bound[near])][:candidates]
        found = 0
        for e in order:
            if found == k and bound[e] + rest <= value[p - begin, k - 1]:
                break
            worth = _similarity(start, word, weight, slot, z, p, e, least, most)
            if worth > 0:
                found = place(row[p - begin], value[p - begin], found, e, worth)


@njit(cache=True, nogil=True)
def place(row, value, found, e, worth):  # type: ignore[no-untyped-def]
    """Keep a page among the best so far, the highest first; how many there are then."""
    if found < len(row):
        found += 1
    elif worth <= value[found - 1]:
        return found
    at = found - 1
    while at > 0 and value[at - 1] < worth:
        row[at], value[at] = row[at - 1], value[at - 1]
        at -= 1
    row[at], value[at] = e, worth
    return found
