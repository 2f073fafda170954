"""What in a page, and in one related to it, tells of changes to come? (Radinsky & Bennett 2013)

A row a day: nothing in the row of day t depends on any later day. `window` is the paper's l,
`ahead` its σ. NaN where a copy that the feature needs is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray
    from recrawl.papers.radinsky.series.snapshots import Snapshots


@dataclass(frozen=True)
class Page:
    """The days of one page: which copy each shows, and how these resemble one another."""

    copy: IntArray  #: of each day, as a row of `words`; -1 unknown
    words: Any  #: SciPy CSR, a row a copy: shares of words
    products: FloatArray  #: of every two copies
    changed: FloatArray  #: by day: 1 if it differs from the day before; NaN unknown


def page(snapshots: Snapshots, shares: Any, number: int, changed: FloatArray) -> Page:
    """One page of the snapshots, whose distributions are `shares`."""
    copies, at = np.unique(snapshots.copy[number], return_inverse=True)
    missing = int(len(copies) > 0 and copies[0] < 0)
    words = shares[copies[missing:]]
    products = (words @ words.T).toarray()
    return Page(at - missing, words, products, changed)


def own(a: Page, *, window: int = 1, ahead: int = 1) -> FloatArray:
    """f1, f3, f4 and f5 of each day: frequency, distances and bits of change in the window."""
    bits = _back(a.changed, range(window))
    known = np.isfinite(bits)
    seen = known.sum(axis=1)
    often = np.divide(
        np.where(known, bits, 0.0).sum(axis=1), seen, out=np.full(len(seen), np.nan), where=seen > 0
    )
    moved = [_distance(a, 0, i) for i in range(1, window + 1)]
    before = [_distance(a, i, i + ahead) for i in range(1, window + 1)]
    return np.column_stack([often, *moved, *before, bits])


def shared(a: Page, b: Page, *, window: int = 1) -> FloatArray:
    """g6 and g7 of each day: how like are A and B, and what changed in them?"""
    both = (a.words @ b.words.T).toarray()
    cross = _crossed(a, b, both)
    columns = [_cosine(cross(i, i), _square(a, i), _square(b, i)) for i in range(window + 1)]
    for i in range(1, window + 1):
        told = cross(0, 0) - cross(0, i)  # A(t) · δB
        moved = _distance(b, 0, i) ** 2
        columns.append(_cosine(told, _square(a, 0), moved))
        together = told - cross(i, 0) + cross(i, i)  # δA · δB
        columns.append(_cosine(together, _distance(a, 0, i) ** 2, moved))
    return np.column_stack(columns)


def unigrams(a: Page) -> FloatArray:
    """f2 by its products: of every two days that of their distributions; NaN where unknown."""
    if not len(a.products):
        return np.full((len(a.copy), len(a.copy)), np.nan)
    gram: FloatArray = a.products[np.ix_(a.copy, a.copy)]
    unknown = a.copy < 0
    gram[unknown] = np.nan
    gram[:, unknown] = np.nan
    return gram


def _back(values: FloatArray, days: range) -> FloatArray:
    """A column for each of so many days back."""
    padded = np.concatenate([np.full(max(days), np.nan), values])
    return sliding_window_view(padded, max(days) + 1)[:, ::-1][:, list(days)]


def _at(copy: IntArray, back: int) -> IntArray:
    """The copy of so many days before each day."""
    return np.concatenate([np.full(min(back, len(copy)), -1), copy[: max(len(copy) - back, 0)]])


def _square(a: Page, back: int) -> FloatArray:
    at = _at(a.copy, back)
    return _where(at >= 0, np.diagonal(a.products), at)


def _distance(a: Page, one: int, other: int) -> FloatArray:
    """‖A(t − one) − A(t − other)‖ on each day."""
    x, y = _at(a.copy, one), _at(a.copy, other)
    known = (x >= 0) & (y >= 0)
    out = np.full(len(x), np.nan)
    i, j, p = x[known], y[known], a.products
    out[known] = np.where(i == j, 0.0, np.sqrt(np.maximum(p[i, i] + p[j, j] - 2 * p[i, j], 0.0)))
    return out


def _crossed(a: Page, b: Page, both: FloatArray) -> Any:
    """Products of A and B, each so many days before each day."""

    def product(i: int, j: int) -> FloatArray:
        x, y = _at(a.copy, i), _at(b.copy, j)
        known = (x >= 0) & (y >= 0)
        out = np.full(len(x), np.nan)
        out[known] = both[x[known], y[known]]
        return out

    return product


def _where(known: BoolArray, values: FloatArray, at: IntArray) -> FloatArray:
    out = np.full(len(at), np.nan)
    out[known] = values[at[known]]
    return out


def _cosine(product: FloatArray, square: FloatArray, other: FloatArray) -> FloatArray:
    """0 where either vector is empty."""
    size = np.sqrt(square * other)
    unknown = np.isnan(product + size)
    found = np.divide(product, size, out=np.zeros(len(size)), where=~unknown & (size > 0))
    return np.where(unknown, np.nan, np.clip(found, -1.0, 1.0))
