"""Visit rates for the largest share of fresh copies, with visits at random times.

Azar, Horvitz, Lubetzky, Peres & Shahaf 2018. A page is fresh ρ/(ρ+Δ) of the time, and one more
visit is worth w/Δ·(x/(1+x))², x = Δ/ρ; so ρ = max(0, √(wΔ/price) − Δ). As in `freshness`, pages
that change too fast for their weight are never visited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.allocate.objective import AllocationObjective, columns
from recrawl.allocate.spend import spend

if TYPE_CHECKING:
    from recrawl.model import FloatArray


def memoryless_rates(
    rate: FloatArray, budget: float, weight: FloatArray | None = None
) -> FloatArray:
    """Visits a day for each page, summing to `budget`."""
    rate, weight = columns(rate, budget, weight)
    return spend(MEMORYLESS, rate, MEMORYLESS.ratio(rate, weight), budget)


def _value(x: FloatArray) -> FloatArray:
    return np.asarray((x / (1.0 + x)) ** 2)


@njit(cache=True, nogil=True)
def _fill(rate: FloatArray, ratio: FloatArray, price: float, out: FloatArray) -> None:
    for i in range(len(rate)):
        out[i] = rate[i] * max(0.0, np.sqrt(ratio[i] / price) - 1.0)


MEMORYLESS = AllocationObjective(_value, _fill)
