"""Temporal content similarity by cross-correlation (§6.3): pages whose words move together.

Similarity(p, e) = Σ ω(w) · max over lags d of corr(Dyn(w, p)[i], Dyn(w, e)[i − d]) / Σ ω(w), summed
over the words of p's last copy that move; words that do not move correlate with nothing. The
division, which the paper lacks, makes a page's similarity to itself 1. A correlation is divided by
the length of the series at every lag, as in the paper, so long lags count less.
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

LAGS = (0, 7)  #: days by which a related page may lead; (1, 7) finds only pages that lead


def most_correlated(
    words: WordSeries,
    k: int = 20,
    *,
    rows: IntArray | None = None,
    lags: tuple[int, int] = LAGS,
    exact: bool = False,
) -> Neighbours:
    """The k of all pages most similar to each page, or to each of `rows`.

    Fewer where not enough pages have words that move together. Compares the candidates that share
    the moving words of highest TF-IDF, and skips those that cannot be among the k; with `exact`,
    compares all pages.
    """
    min_lag, max_lag = lags
    if not 0 <= min_lag <= max_lag:
        raise BadInput(f"lags must be two days, 0 <= first <= last. Got {lags}; try (0, 7).")
    z = _standardise_rows(words.series)
    columns = (words.start, words.word, words.weight, words.slot)
    owner = owners(words.start)
    moves = words.slot >= 0
    total = np.bincount(owner[moves], words.weight[moves], minlength=words.pages)
    begins, entries = words.inverted(moves)
    owners_found = owner[entries]
    reach = (words.pages, np.iinfo(np.int64).max) if exact else (MAX_CANDIDATES, INDEX_WORDS)

    def search(some: IntArray, row: IntArray, value: FloatArray) -> None:
        _search(*columns, z, begins, owners_found, some, min_lag, max_lag, *reach, row, value)

    asked = np.arange(words.pages) if rows is None else np.asarray(rows, np.int64)
    row, value = search_all(search, asked, k)
    return as_neighbours(row, value / np.maximum(total[asked], 1e-300)[:, None])


@njit(cache=True, nogil=True)
def _standardise(x):  # type: ignore[no-untyped-def]
    """Mean 0 and length 1; all 0 for a constant series."""
    out = x - x.mean()
    size = np.sqrt((out * out).sum())
    # Rounding leaves a little of a constant: it counts as 0.
    if size <= 1e-12 * (1.0 + np.abs(x).max()) * len(x):
        return np.zeros_like(out)
    return out / size


@njit(cache=True, nogil=True)
def _standardise_rows(series):  # type: ignore[no-untyped-def]
    out = np.empty_like(series)
    for row in range(len(series)):
        out[row] = _standardise(series[row].astype(np.float64))
    return out


@njit(cache=True, nogil=True, fastmath=True)
def _dot(x, y, lag):  # type: ignore[no-untyped-def]
    total = x[0] * 0
    for i in range(len(x) - lag):
        total += x[i + lag] * y[i]
    return total


@njit(cache=True, nogil=True)
def _similarity(start, word, weight, slot, z, p, e, min_lag, max_lag):  # type: ignore[no-untyped-def]
    """Σ ω · max correlation over the words of p that move in both pages."""
    total = 0.0
    b, end = start[e], start[e + 1]
    for a in range(start[p], start[p + 1]):
        if slot[a] < 0 or weight[a] <= 0:
            continue
        while b < end and word[b] < word[a]:
            b += 1
        if b < end and word[b] == word[a] and slot[b] >= 0:
            top = -1.0
            for lag in range(min_lag, min(max_lag, z.shape[1] - 1) + 1):
                top = max(top, _dot(z[slot[a]], z[slot[b]], lag))
            total += weight[a] * top
    return total


@njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    start, word, weight, slot, z, begins, owner, asked,
    min_lag, max_lag, max_candidates, index_words, row, value,
):  # fmt: skip
    """Fill row and value of the pages asked with the pages most similar to each."""
    pages, k = len(start) - 1, row.shape[1]
    bound = np.zeros(pages)
    for i in range(len(asked)):
        p = asked[i]
        entries = np.arange(start[p], start[p + 1])
        entries = entries[(slot[entries] >= 0) & (weight[entries] > 0)]
        entries = entries[np.argsort(-weight[entries])]
        rest = weight[entries[index_words:]].sum()
        bound[:] = 0.0
        for a in entries[:index_words]:
            for at in range(begins[word[a]], begins[word[a] + 1]):
                bound[owner[at]] += weight[a]
        bound[p] = 0.0
        candidates = np.flatnonzero(bound)
        candidates = candidates[np.argsort(-bound[candidates])][:max_candidates]
        n = 0
        for e in candidates:
            if n == k and bound[e] + rest <= value[i, k - 1]:
                break
            worth = _similarity(start, word, weight, slot, z, p, e, min_lag, max_lag)
            if worth > 0:
                n = insert(row[i], value[i], n, e, worth)
