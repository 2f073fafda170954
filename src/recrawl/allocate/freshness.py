"""Visit rates for the largest share of fresh copies, with evenly spaced visits.

Cho & Garcia-Molina 2003. A page visited f times a day is fresh (1 − e^{−x})/x of the time, x = λ/f,
and one more visit is worth w/λ·(1 − (1+x)e^{−x}). That is at most w/λ: pages for which w/λ is below
the price are never visited, because they change too fast for their weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from scipy.special import gammainc

from recrawl.allocate.objective import AllocationObjective, columns
from recrawl.allocate.spend import spend

if TYPE_CHECKING:
    from recrawl.model import FloatArray

SERIES_BELOW = 0.02  #: for smaller √(2y) the series is exact, and the closed form loses digits
LOG_START_ABOVE = 0.7  #: for larger y the series is a poor start
MAX_STEPS = 12  #: Halley needs 2 or 3


def freshness_rates(
    rate: FloatArray, budget: float, weight: FloatArray | None = None
) -> FloatArray:
    """Visits a day for each page, summing to `budget`."""
    rate, weight = columns(rate, budget, weight)
    return spend(FRESHNESS, rate, FRESHNESS.ratio(rate, weight), budget)


def _value(x: FloatArray) -> FloatArray:
    return np.asarray(gammainc(2.0, x))  # 1 − (1+x)e^{−x}, without cancellation


@njit(cache=True, nogil=True)
def _fill(rate: FloatArray, ratio: FloatArray, price: float, out: FloatArray) -> None:
    for i in range(len(rate)):
        y = price / ratio[i]
        out[i] = rate[i] / _inverse(y) if y < 1.0 else 0.0


@njit(cache=True, nogil=True)
def _inverse(y: float) -> float:
    """The x at which 1 − (1+x)e^{−x} is y < 1: −1 − W₋₁((y−1)/e), Lambert's function."""
    if y > LOG_START_ABOVE:
        a = np.log1p(-y) - 1.0
        b = np.log(-a)
        return _polished(b - a - 1.0 - b / a, y)
    p = np.sqrt(2.0 * y)
    x = 769 / 17280 + p * (221 / 8505 + p * (680863 / 43545600))
    x = p * (1.0 + p * (1 / 3 + p * (11 / 72 + p * (43 / 540 + p * x))))
    return x if p < SERIES_BELOW else _polished(x, y)


@njit(cache=True, nogil=True)
def _polished(x: float, y: float) -> float:
    """Halley's method. Each step cubes the error."""
    for _ in range(MAX_STEPS):
        fading = np.exp(-x)
        step = (1.0 - y - (1.0 + x) * fading) / (x * fading)
        step /= 1.0 - 0.5 * step * (1.0 - x) / x
        x -= step
        if abs(step) <= 1e-5 * x:  # the next would be below 1e-15
            break
    return x


FRESHNESS = AllocationObjective(_value, _fill)
