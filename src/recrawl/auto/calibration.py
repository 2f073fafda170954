"""Does a hit happen as often as forecasts say? A correction, learned from forecasts and visits.

The pages visited have the highest forecasts, so forecasts were too high more often than too
low. The correction is log s' = shift + slope·log s, where a visit is a hit with probability
1 − exp(−s). It is fitted to the latest visits, each with the forecast made before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.auto import hazard

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray

MAX_VISITS = 4_000  #: the latest, that are learned from
PRIOR = 10.0  #: how strongly shift and slope are held at 0 and 1, in expected hits
STEPS = 20
MAX_WEIGHT = np.array([3.0, 0.9])  #: of the shift, and of the slope from 1, which stays above 0


class Calibration:
    """What was promised of the latest visits, and the correction that follows from it."""

    def __init__(self) -> None:
        self.log_s = np.empty(0)
        self.hit = np.empty(0, np.bool_)
        self.shift, self.slope = 0.0, 1.0

    def add_visits(self, log_s: FloatArray, hit: BoolArray) -> None:
        """Add visits: the forecast before each, uncorrected, and what it found."""
        self.log_s = np.concatenate([self.log_s, log_s])[-MAX_VISITS:]
        self.hit = np.concatenate([self.hit, hit])[-MAX_VISITS:]

    def fit(self) -> None:
        """Fit the correction to the visits kept."""
        self.shift, self.slope = 0.0, 1.0
        if not len(self.hit):
            return
        centre = float(self.log_s.mean())
        z = np.stack([np.ones(len(self.hit)), self.log_s - centre])
        weight = np.zeros(2)
        for _ in range(STEPS):
            slope, curve = hazard.derivatives(self.log_s + weight @ z, self.hit)
            gradient = z @ slope - PRIOR * weight
            weight = weight + np.linalg.solve((z * curve) @ z.T + PRIOR * np.eye(2), gradient)
            weight = np.clip(weight, -MAX_WEIGHT, MAX_WEIGHT)
        self.slope = 1.0 + float(weight[1])
        self.shift = float(weight[0]) - float(weight[1]) * centre

    def corrected(self, s: FloatArray) -> FloatArray:
        """The hits due, corrected."""
        log_s = self.shift + self.slope * np.log(np.maximum(s, 1e-12))
        return np.exp(np.minimum(log_s, 30.0))
