"""Two copies compared: products of unigram distributions, and g6 and g7 of §4.2.2."""

from __future__ import annotations

import numpy as np
from numba import njit

from recrawl.model import FloatArray, IntArray

CsrRows = tuple[IntArray, IntArray, FloatArray]  #: a sparse table: starts, columns, values


def relation_features(
    words: CsrRows,
    a: IntArray,
    a_before: IntArray,
    b: IntArray,
    b_before: IntArray,
) -> FloatArray:
    """g6 and g7 of each page and each of its experts, in the last axis; NaN where unknown.

    cos(A, B) of the last copies and of those before; cos(δB, A); cos(δB, δA). The copies are rows
    of `words` (CSR): those of the pages, and pages × experts; a row of -1 or without words is
    unknown. The cosine with an unchanged page is 0.
    """
    features: FloatArray = _relations(words, a, a_before, b, b_before)
    return features


@njit(cache=True, nogil=True)
def product(words, row, others, other):  # type: ignore[no-untyped-def]
    """Scalar product of two rows of sparse tables, each (start, columns, values)."""
    start, column, value = words
    its_start, its_column, its_value = others
    i, end = start[row], start[row + 1]
    j, its_end = its_start[other], its_start[other + 1]
    total = 0.0
    while i < end and j < its_end:
        if column[i] == its_column[j]:
            total += value[i] * its_value[j]
            i += 1
            j += 1
        elif column[i] < its_column[j]:
            i += 1
        else:
            j += 1
    return total


@njit(cache=True, nogil=True)
def _relations(words, a, a_before, b, b_before):  # type: ignore[no-untyped-def]
    square = np.empty(len(words[0]) - 1)
    for row in range(len(square)):
        square[row] = (words[2][words[0][row] : words[0][row + 1]] ** 2).sum()
    out = np.full((*b.shape, 4), np.nan)
    for i in range(len(a)):
        if a[i] < 0 or square[a[i]] <= 0:
            continue
        moved = _squared_distance(words, square, a[i], a_before[i])
        for e in range(b.shape[1]):
            if b[i, e] >= 0 and square[b[i, e]] > 0:
                pair = (a[i], a_before[i], moved, b[i, e], b_before[i, e])
                _relate(words, square, pair, out[i, e])
    return out


@njit(cache=True, nogil=True)
def _relate(words, square, pair, out):  # type: ignore[no-untyped-def]
    """Fill in the features of two pages; copies that are equal are not compared twice."""
    a, a_before, moved, b, b_before = pair
    now = product(words, a, words, b)
    out[0] = _cosine(now, square[a], square[b])
    its_move = _squared_distance(words, square, b, b_before)
    if np.isnan(its_move):
        return
    with_old = product(words, a, words, b_before) if its_move > 0 else now
    out[2] = _cosine(now - with_old, square[a], its_move)
    if np.isnan(moved):
        return
    of_old = product(words, a_before, words, b) if moved > 0 else now
    both_old = with_old if moved <= 0 else of_old
    if moved > 0 and its_move > 0:
        both_old = product(words, a_before, words, b_before)
    out[1] = _cosine(both_old, square[a_before], square[b_before])
    out[3] = _cosine(now - with_old - of_old + both_old, moved, its_move)


@njit(cache=True, nogil=True)
def _squared_distance(words, square, row, before):  # type: ignore[no-untyped-def]
    """Squared distance of two copies of a page; NaN if the earlier one is unknown."""
    if before < 0 or square[before] <= 0:
        return np.nan
    distance = square[row] + square[before] - 2 * product(words, row, words, before)
    return distance if distance > 1e-15 else 0.0


@njit(cache=True, nogil=True)
def _cosine(top, square, other):  # type: ignore[no-untyped-def]
    size = square * other
    return min(max(top / np.sqrt(size), -1.0), 1.0) if size > 0 else 0.0
