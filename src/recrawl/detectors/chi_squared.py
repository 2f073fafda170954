"""Would chance alone make the words differ so much?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import chdtrc

from recrawl.page.fingerprints import word_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from recrawl.model import FloatArray

_SPARSE = 5.0  # expected counts below this make the test unreliable
_LEAST = 1.0  # Cochran: a single cell may go down to this


class Outcome(NamedTuple):
    """Outcome of a χ² test of two rows of counts."""

    statistic: float
    dof: int
    p: float


@dataclass(kw_only=True)
class ChiSquared:
    """Changed when a χ² test of the word counts gives p < `alpha` (Radinsky & Bennett, Eq. 1).

    The paper is silent on rare words: they count one by one, or with `pooled` as one.
    """

    name: ClassVar[str] = "chi-squared"
    needs: ClassVar[tuple[str, ...]] = ("text",)

    alpha: float = 0.05
    pooled: bool = False

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        pairs = zip(before["text"].to_pylist(), after["text"].to_pylist(), strict=True)
        return pa.array([self._differs(old, new) for old, new in pairs], pa.bool_())

    def _differs(self, old: str | None, new: str | None) -> bool | None:
        if old is None or new is None:
            return None
        a, b = word_counts(old), word_counts(new)
        counts = [(a[word], b[word]) for word in {**a, **b}]
        rows = np.array(counts, dtype=np.float64).reshape(-1, 2).T
        return chi_squared(rows[0], rows[1], pooled=self.pooled).p < self.alpha


def chi_squared(counts_a: ArrayLike, counts_b: ArrayLike, *, pooled: bool = False) -> Outcome:
    """Do two rows of counts come from one distribution? Without continuity correction.

    One empty row beside another that is not: p is 0. Two empty rows: p is 1.
    """
    table = np.array([counts_a, counts_b], dtype=np.float64)
    table = table[:, table.sum(axis=0) > 0]
    totals = table.sum(axis=1)
    if not totals.all():
        differs = bool(totals.any())
        return Outcome(
            np.inf if differs else 0.0, max(table.shape[1] - 1, 0), 0.0 if differs else 1.0
        )
    if pooled:
        table = _pool(table)
    dof = max(table.shape[1] - 1, 0)
    if not dof:
        return Outcome(0.0, 0, 1.0)
    expected = _expected(table)
    statistic = float(((table - expected) ** 2 / expected).sum())
    return Outcome(statistic, dof, float(chdtrc(dof, statistic)))


def _expected(table: FloatArray) -> FloatArray:
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected: FloatArray = np.outer(rows, columns) / table.sum()
    return expected


def _pool(table: FloatArray) -> FloatArray:
    """The table with its sparse columns merged into one, dropped if that is sparse still."""
    expected = _expected(table)
    sparse = expected.min(axis=0) < _SPARSE
    if not sparse.any():
        return table
    kept = table[:, ~sparse]
    if expected[:, sparse].sum(axis=1).min() < _LEAST:
        return kept
    return np.column_stack([kept, table[:, sparse].sum(axis=1)])
