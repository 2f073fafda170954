"""How much more likely is a hit than its rate says, given the other features? A linear model.

A complementary log-log regression: a visit is a hit with probability 1 − exp(−s), and
log s = log(rate × days) + w·z. The weights w are shrunk towards 0, which leaves the plain rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray

MAX_STEPS = 12  #: of Newton's method
RIDGE = 50.0  #: how strongly weights are shrunk towards 0, in expected hits
INTERCEPT_RIDGE = 0.1  #: the same for the intercept
MAX_DEVIATIONS = 8.0  #: standard deviations at which a value is clipped


@dataclass(frozen=True)
class Hazard:
    """The weights of standardised columns."""

    mean: FloatArray
    scale: FloatArray  #: inf for a constant column
    weight: FloatArray
    intercept: float

    def log_ratio(self, columns: NDArray[np.float32]) -> FloatArray:
        """Log of s over rate × days, for each visit; `columns` has one row per feature."""
        logs = np.full(columns.shape[1], self.intercept)
        far = np.float32(MAX_DEVIATIONS)
        for column, mean, scale, weight in zip(
            columns, self.mean, self.scale, self.weight, strict=True
        ):
            if weight != 0.0 and np.isfinite(scale):
                z = (column - np.float32(mean)) * np.float32(1.0 / scale)
                logs += weight * np.clip(z, -far, far)
        return logs


def fit(
    columns: NDArray[np.float32], offset: FloatArray, hit: BoolArray, *, ridge: float = RIDGE
) -> Hazard:
    """Fit to visits: one row per feature, one column per visit; `offset` is log(rate × days)."""
    mean, scale = columns.mean(axis=1, dtype=float), columns.std(axis=1, dtype=float)
    scale = np.where(scale > 1e-6, scale, np.inf)
    z = np.vstack([np.ones((1, len(hit))), _standard(columns, mean, scale)])
    penalty = np.full(len(z), ridge)
    penalty[0] = INTERCEPT_RIDGE
    weight = np.zeros(len(z))
    loss = _loss(z, weight, offset, hit, penalty)
    for _ in range(MAX_STEPS):
        slope, curve = derivatives(weight @ z + offset, hit)
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
    return np.clip((columns - mean[:, None]) / scale[:, None], -MAX_DEVIATIONS, MAX_DEVIATIONS)


def _loss(
    z: FloatArray, weight: FloatArray, offset: FloatArray, hit: BoolArray, penalty: FloatArray
) -> float:
    return float(log_loss(weight @ z + offset, hit).sum() + 0.5 * penalty @ weight**2)


def derivatives(log_s: FloatArray, hit: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Slope of the log-likelihood by log s, and minus its expected curvature."""
    s = np.exp(np.clip(log_s, -30.0, 5.0))
    tail = s / np.expm1(s)  # E[events | hit] − s
    return np.where(hit, tail, -s), np.maximum(s * tail, 1e-9)
