"""How much likelier than its rate promises is a hit, by what else is known?

A complementary log-log regression: a visit is a hit with probability 1 − exp(−s), and
log s = log(rate × days) + w·z. The weights w are drawn towards 0, where the plain rate remains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray

STEPS = 12  #: of Newton's method, at most
RIDGE = 50.0  #: how strongly weights are drawn towards 0, in expected hits
FREE = 0.1  #: and how strongly the intercept is
FAR = 8.0  #: standard deviations beyond which a value is taken for that far


@dataclass(frozen=True)
class Hazard:
    """The weights of columns, and what columns are measured against."""

    mean: FloatArray
    scale: FloatArray  #: inf for a column that never varied, and so says nothing
    weight: FloatArray
    intercept: float

    def log_ratio(self, columns: NDArray[np.float32]) -> FloatArray:
        """Log of s over rate × days; a row a column, a column a visit."""
        found: FloatArray = _sum(columns, self.mean, self.scale, self.weight, self.intercept)
        return found


def fit(
    columns: NDArray[np.float32], offset: FloatArray, hit: BoolArray, *, ridge: float = RIDGE
) -> Hazard:
    """Learn from visits: a row a column, a column a visit; `offset` is log(rate × days)."""
    mean, scale = columns.mean(axis=1, dtype=float), columns.std(axis=1, dtype=float)
    scale = np.where(scale > 1e-6, scale, np.inf)
    z = np.vstack([np.ones((1, len(hit))), _standard(columns, mean, scale)])
    penalty = np.full(len(z), ridge)
    penalty[0] = FREE
    weight = np.zeros(len(z))
    loss = _loss(z, weight, offset, hit, penalty)
    for _ in range(STEPS):
        slope, curve = _derivatives(weight @ z + offset, hit)
        gradient = z @ slope - penalty * weight
        step = np.linalg.solve((z * curve) @ z.T + np.diag(penalty), gradient)
        while (new := _loss(z, weight + step, offset, hit, penalty)) > loss:
            step = step / 2.0
            if np.abs(step).max() < 1e-6:
                break
        if not loss - new > 1e-4:
            break
        weight, loss = weight + step, new
    return Hazard(mean, scale, weight[1:], float(weight[0]))


def log_loss(log_s: FloatArray, hit: BoolArray) -> FloatArray:
    """Minus the log-likelihood of each visit."""
    s = np.exp(np.minimum(log_s, 30.0))
    return np.where(hit, -np.log(np.maximum(-np.expm1(-s), 1e-300)), s)


def _standard(columns: NDArray[np.float32], mean: FloatArray, scale: FloatArray) -> FloatArray:
    return np.clip((columns - mean[:, None]) / scale[:, None], -FAR, FAR)


def _loss(
    z: FloatArray, weight: FloatArray, offset: FloatArray, hit: BoolArray, penalty: FloatArray
) -> float:
    return float(log_loss(weight @ z + offset, hit).sum() + 0.5 * penalty @ weight**2)


def _derivatives(log_s: FloatArray, hit: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Of the log-likelihood by log s: the slope, and minus the expected curvature."""
    s = np.exp(np.clip(log_s, -30.0, 5.0))
    tail = s / np.expm1(s)  # what of s is left when a hit is known
    return np.where(hit, tail, -s), np.maximum(s * tail, 1e-9)


@njit(cache=True)
def _sum(columns, mean, scale, weight, intercept):  # type: ignore[no-untyped-def]
    found = np.full(columns.shape[1], intercept)
    for c in range(len(columns)):
        if weight[c] == 0.0 or not np.isfinite(scale[c]):
            continue
        m, inverse, w, column = (
            np.float32(mean[c]),
            np.float32(1.0 / scale[c]),
            weight[c],
            columns[c],
        )
        for i in range(len(found)):
            found[i] += w * min(max((column[i] - m) * inverse, np.float32(-FAR)), np.float32(FAR))
    return found
