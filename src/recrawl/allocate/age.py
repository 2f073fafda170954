"""Visit rates for the lowest mean age. Age: time since the first change not yet seen.

Cho & Garcia-Molina 2003. One more visit is worth w/λ²·(x²/2 − 1 + (1+x)e^{−x}), x = λ/f. That has
no limit as visits become rare, so every page is visited.
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

SERIES_BELOW = 0.5  #: for smaller x the closed form loses digits, and the series does not
NO_EXPONENTIAL_ABOVE = 45.0  #: for larger x rounding removes the exponential
MAX_STEPS = 12  #: Halley needs 1 to 3


def age_rates(rate: FloatArray, budget: float, weight: FloatArray | None = None) -> FloatArray:
    """Visits a day for each page, summing to `budget`."""
    rate, weight = columns(rate, budget, weight)
    return spend(AGE, rate, AGE.ratio(rate, weight), budget)


def _value(x: FloatArray) -> FloatArray:
    # The formula above, integrated by parts: no cancellation.
    return np.asarray(-0.5 * x * x * np.expm1(-x) - gammainc(3.0, x))


@njit(cache=True, nogil=True)
def _fill(rate: FloatArray, ratio: FloatArray, price: float, out: FloatArray) -> None:
    for i in range(len(rate)):
        out[i] = rate[i] / _inverse(price / ratio[i])


@njit(cache=True, nogil=True)
def _inverse(y: float) -> float:
    """The x at which x²/2 − 1 + (1+x)e^{−x} is y, by Halley's method: each step cubes the error."""
    x = np.sqrt(2.0 * y + 2.0)
    if x > NO_EXPONENTIAL_ABOVE:
        return float(x)
    if y < 1.0:
        c = np.cbrt(3.0 * y)
        x = c * (1.0 + c * (0.125 + c * 0.0135))
    for _ in range(MAX_STEPS):
        fall = np.expm1(-x)
        late = x * x / 2.0 + x + (1.0 + x) * fall if x > SERIES_BELOW else _series(x)
        step = (y - late) / (x * fall)
        step /= 1.0 - 0.5 * step * (1.0 / x - (1.0 + fall) / fall)
        x -= step
        if abs(step) <= 1e-5 * x:  # the next would be below 1e-15
            break
    return float(x)


@njit(cache=True, nogil=True)
def _series(x: float) -> float:
    """Σ (−1)^{k+1} (k−1) xᵏ/k! from k = 3."""
    term, total = x * x * x / 6.0, 0.0
    for k in range(3, 17):
        total += (k - 1) * term
        term *= -x / (k + 1)
    return total


AGE = AllocationObjective(_value, _fill, power=2)
