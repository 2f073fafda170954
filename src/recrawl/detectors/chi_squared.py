"""Do the word counts differ more than by chance?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy.special import chdtrc

from recrawl.detectors.pairs import compare_pairs
from recrawl.page.fingerprints import word_counts

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike

    from recrawl.model import FloatArray

MIN_EXPECTED = 5.0  #: expected counts below this make the test unreliable
MIN_EXPECTED_POOLED = 1.0  #: a single cell may go down to this (Cochran)


class ChiSquaredResult(NamedTuple):
    """Result of a χ² test of two rows of counts."""

    statistic: float
    dof: int
    p: float


@dataclass(kw_only=True)
class ChiSquared:
    """Changed when a χ² test of the word counts gives p < `alpha` (Radinsky & Bennett, Eq. 1).

    The paper does not say how rare words count: here one by one, or together if `pooled`.
    """

    name: ClassVar[str] = "chi-squared"
    needs: ClassVar[tuple[str, ...]] = ("text",)

    alpha: float = 0.05
    pooled: bool = False

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        return compare_pairs(self._differs, before["text"], after["text"])

    def _differs(self, old: str, new: str) -> bool:
        a, b = word_counts(old), word_counts(new)
        counts = [(a[word], b[word]) for word in {**a, **b}]
        rows = np.array(counts, dtype=np.float64).reshape(-1, 2).T
        return chi_squared(rows[0], rows[1], pooled=self.pooled).p < self.alpha


def chi_squared(
    counts_a: ArrayLike, counts_b: ArrayLike, *, pooled: bool = False
) -> ChiSquaredResult:
    """Test whether two rows of counts come from one distribution, without continuity correction.

    p is 0 if one row is empty and 1 if both are.
    """
    table = np.array([counts_a, counts_b], dtype=np.float64)
    table = table[:, table.sum(axis=0) > 0]
    totals = table.sum(axis=1)
    if not totals.all():
        differs = bool(totals.any())
        return ChiSquaredResult(
            np.inf if differs else 0.0, max(table.shape[1] - 1, 0), 0.0 if differs else 1.0
        )
    if pooled:
        table = _pool(table)
    dof = max(table.shape[1] - 1, 0)
    if not dof:
        return ChiSquaredResult(0.0, 0, 1.0)
    expected = _expected(table)
    statistic = float(((table - expected) ** 2 / expected).sum())
    return ChiSquaredResult(statistic, dof, float(chdtrc(dof, statistic)))


def _expected(table: FloatArray) -> FloatArray:
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected: FloatArray = np.outer(rows, columns) / table.sum()
    return expected


def _pool(table: FloatArray) -> FloatArray:
    """Merge the sparse columns into one; drop that one if it is still sparse."""
    expected = _expected(table)
    sparse = expected.min(axis=0) < MIN_EXPECTED
    if not sparse.any():
        return table
    kept = table[:, ~sparse]
    if expected[:, sparse].sum(axis=1).min() < MIN_EXPECTED_POOLED:
        return kept
    return np.column_stack([kept, table[:, sparse].sum(axis=1)])
