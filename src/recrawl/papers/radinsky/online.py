"""How do two series correlate so far, if old values were not kept?

Exactly as `cross_correlation` of the whole series: all it needs are sums, the last few values and
the first few. A new day costs the same however long the series are.
"""

from __future__ import annotations

import numpy as np

from recrawl.papers.radinsky.correlation import LAGS, checked


class OnlineCorrelation:
    """Cross-correlations of pairs of series, fed a day at a time."""

    def __init__(self, pairs: int, *, lags: tuple[int, int] = LAGS) -> None:
        self.lags = checked(lags)
        most = lags[1]
        self.days = 0
        self._origin = np.zeros((2, pairs))  # first values: sums of small numbers round less
        self._sum = np.zeros((2, pairs))
        self._square = np.zeros((2, pairs))
        self._product = np.zeros((most + 1, pairs))  # Σ x[i] y[i − lag]
        self._head = np.zeros((most, pairs))  # the first values of x
        self._tail = np.zeros((most + 1, pairs))  # the last values of y, the newest first

    def update(self, x: np.ndarray, y: np.ndarray) -> None:
        """The values of a new day, one a pair."""
        new = np.array([x, y], float)
        if not self.days:
            self._origin = new.copy()
        new -= self._origin
        if self.days < len(self._head):
            self._head[self.days] = new[0]
        self._tail = np.concatenate([new[1:], self._tail[:-1]])
        back = min(self.days, self.lags[1]) + 1  # how far back there are values
        self._product[:back] += new[0] * self._tail[:back]
        self._sum += new
        self._square += new**2
        self.days += 1

    def correlations(self) -> np.ndarray:
        """A row a lag, a column a pair; 0 where a series is constant or the lag too long."""
        n, first = self.days, self.lags[0]
        out = np.zeros((self.lags[1] - first + 1, self._sum.shape[1]))
        if not n:
            return out
        mean = self._sum / n
        spread = np.maximum(self._square - n * mean**2, 0.0)
        moves = (spread > 1e-13 * (self._square + 1e-300)).all(axis=0)
        size = np.sqrt(spread[0] * spread[1])
        for lag in range(first, min(self.lags[1], n - 1) + 1):
            x = self._sum[0] - self._head[:lag].sum(axis=0)  # without those that no y meets
            y = self._sum[1] - self._tail[:lag].sum(axis=0)
            both = self._product[lag] - mean[1] * x - mean[0] * y + (n - lag) * mean[0] * mean[1]
            np.divide(both, size, out=out[lag - first], where=moves & (size > 0))
        return out
