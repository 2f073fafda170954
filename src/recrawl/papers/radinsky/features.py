"""Features of a page (§4.2.1, f1–f5) and of a page related to it (§4.2.2, g1–g7), one row per day.

A row depends on no later day. `window` is the paper's l, `ahead` its σ. A feature is NaN where a
copy that it needs is unknown. g1–g5 are f1–f5 of the related page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from recrawl.papers.radinsky.series.snapshots import word_shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import FloatArray, IntArray
    from recrawl.papers.radinsky.series.snapshots import Snapshots


@dataclass(frozen=True)
class PageDays:
    """The days of one page: the copy of each day, and the products of these copies."""

    copy: IntArray  #: by day, a row of `shares`; -1 unknown
    shares: Any  #: SciPy CSR, one row per copy: unigram distribution
    products: FloatArray  #: of every two copies
    changed: FloatArray  #: by day: 1 if it differs from the day before, 0 if not; NaN unknown


def page_days(snapshots: Snapshots, page: int, changed: FloatArray) -> PageDays:
    """One page of the snapshots."""
    copies, copy = np.unique(snapshots.copy[page], return_inverse=True)
    missing = int(len(copies) > 0 and copies[0] < 0)
    own = word_shares(snapshots.counts[copies[missing:]])
    return PageDays(copy - missing, own, (own @ own.T).toarray(), changed)


def page_features(a: PageDays, *, window: int = 1, ahead: int = 1) -> FloatArray:
    """f1, f3, f4 and f5 of each day.

    f1 is the share of changes in the window, f3 ‖A(t) − A(t − i)‖, f4 ‖A(t − i) − A(t − i − σ)‖,
    f5 whether A changed on each day of the window; i runs from 1 to l.
    """
    padded = np.concatenate([np.full(window - 1, np.nan), a.changed])
    changed = sliding_window_view(padded, window)[:, ::-1]
    known = np.isfinite(changed)
    n_known = known.sum(axis=1)
    n_changes = np.where(known, changed, 0.0).sum(axis=1)
    unknown = np.full(len(n_known), np.nan)
    frequency = np.divide(n_changes, n_known, out=unknown, where=n_known > 0)
    from_now = [_distance(a, 0, i) for i in range(1, window + 1)]
    steps = [_distance(a, i, i + ahead) for i in range(1, window + 1)]
    return np.column_stack([frequency, *from_now, *steps, changed])


def relation_features(a: PageDays, b: PageDays, *, window: int = 1) -> FloatArray:
    """g6 and g7 of each day, with δ_i(X) = X(t) − X(t − i).

    g6 is cos(A(t − i), B(t − i)) for i from 0 to l; g7 is cos(δ_i(B), A(t)) and cos(δ_i(B), δ_i(A))
    for i from 1 to l.
    """
    product = _cross_products(a, b)
    columns = [_cosine(product(i, i), _square(a, i), _square(b, i)) for i in range(window + 1)]
    for i in range(1, window + 1):
        with_a = product(0, 0) - product(0, i)  # A(t) · δ_i(B)
        with_change = with_a - product(i, 0) + product(i, i)  # δ_i(A) · δ_i(B)
        change_b = _distance(b, 0, i) ** 2
        columns.append(_cosine(with_a, _square(a, 0), change_b))
        columns.append(_cosine(with_change, _distance(a, 0, i) ** 2, change_b))
    return np.column_stack(columns)


def unigram_products(a: PageDays) -> FloatArray:
    """f2 as a kernel needs it: products of the unigram distributions of every two days."""
    if not len(a.products):
        return np.full((len(a.copy), len(a.copy)), np.nan)
    products: FloatArray = a.products[np.ix_(a.copy, a.copy)]
    unknown = a.copy < 0
    products[unknown] = np.nan
    products[:, unknown] = np.nan
    return products


def _copy_before(copy: IntArray, back: int) -> IntArray:
    """The copy shown `back` days before each day."""
    return np.concatenate([np.full(min(back, len(copy)), -1), copy[: max(len(copy) - back, 0)]])


def _square(a: PageDays, back: int) -> FloatArray:
    """‖A(t − back)‖² on each day."""
    copy = _copy_before(a.copy, back)
    out = np.full(len(copy), np.nan)
    out[copy >= 0] = np.diagonal(a.products)[copy[copy >= 0]]
    return out


def _distance(a: PageDays, one: int, other: int) -> FloatArray:
    """‖A(t − one) − A(t − other)‖ on each day."""
    x, y = _copy_before(a.copy, one), _copy_before(a.copy, other)
    known = (x >= 0) & (y >= 0)
    out = np.full(len(x), np.nan)
    i, j, p = x[known], y[known], a.products
    out[known] = np.where(i == j, 0.0, np.sqrt(np.maximum(p[i, i] + p[j, j] - 2 * p[i, j], 0.0)))
    return out


def _cross_products(a: PageDays, b: PageDays) -> Callable[[int, int], FloatArray]:
    """A function of i and j: A(t − i) · B(t − j) on each day."""
    products = (a.shares @ b.shares.T).toarray()

    def product(i: int, j: int) -> FloatArray:
        x, y = _copy_before(a.copy, i), _copy_before(b.copy, j)
        known = (x >= 0) & (y >= 0)
        out = np.full(len(x), np.nan)
        out[known] = products[x[known], y[known]]
        return out

    return product


def _cosine(product: FloatArray, square: FloatArray, other: FloatArray) -> FloatArray:
    """Cosine from a product and two squared lengths; 0 where a vector is empty."""
    size = np.sqrt(square * other)
    unknown = np.isnan(product + size)
    cosine = np.divide(product, size, out=np.zeros(len(size)), where=~unknown & (size > 0))
    return np.where(unknown, np.nan, np.clip(cosine, -1.0, 1.0))
