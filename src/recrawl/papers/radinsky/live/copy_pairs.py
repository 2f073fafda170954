"""Two copies compared: products of unigram distributions, and g6 and g7 of §4.2.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray


def relation_features(
    words: tuple[IntArray, IntArray, FloatArray],
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
    out = np.full((*b.shape, 4), np.nan)
    for i in range(len(a)):
        if not _is_known(words, a[i]):
            continue
        has_before = _is_known(words, a_before[i])
        for e in range(b.shape[1]):
            if not _is_known(words, b[i, e]):
                continue
            out[i, e, 0] = _cosine_of(words, a[i], b[i, e])
            if not _is_known(words, b_before[i, e]):
                continue
            out[i, e, 2] = _cosine_with_change(words, a[i], -1, b[i, e], b_before[i, e])
            if has_before:
                out[i, e, 1] = _cosine_of(words, a_before[i], b_before[i, e])
                out[i, e, 3] = _cosine_with_change(
                    words, a[i], a_before[i], b[i, e], b_before[i, e]
                )
    return out


@njit(cache=True, nogil=True)
def _is_known(words, row):  # type: ignore[no-untyped-def]
    return row >= 0 and words[0][row + 1] > words[0][row]


@njit(cache=True, nogil=True)
def _cosine_of(words, a, b):  # type: ignore[no-untyped-def]
    ab = product(words, a, words, b)
    return _cosine(ab, product(words, a, words, a), product(words, b, words, b))


@njit(cache=True, nogil=True)
def _cosine_with_change(words, a, a_before, b, b_before):  # type: ignore[no-untyped-def]
    """cos(δB, δA), or cos(δB, A) if `a_before` is -1."""
    top = product(words, a, words, b) - product(words, a, words, b_before)
    square = product(words, a, words, a)
    if a_before >= 0:
        top -= product(words, a_before, words, b) - product(words, a_before, words, b_before)
        square = _squared_distance(words, a, a_before)
    return _cosine(top, square, _squared_distance(words, b, b_before))


@njit(cache=True, nogil=True)
def _squared_distance(words, a, b):  # type: ignore[no-untyped-def]
    squares = product(words, a, words, a) + product(words, b, words, b)
    return squares - 2 * product(words, a, words, b)


@njit(cache=True, nogil=True)
def _cosine(top, square, other):  # type: ignore[no-untyped-def]
    size = square * other
    return min(max(top / np.sqrt(size), -1.0), 1.0) if size > 0 else 0.0
