"""How often does a page change? Updated visit by visit, in constant memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numba import njit

from recrawl.history.intervals import outcomes
from recrawl.rates.bounds import MIN_DAYS, bounded
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Pages


class Sa:
    """Stochastic approximation of Avrachenkov, Patil & Thoppe (2020).

    y ← y + (k+1)^−η · [I·(y + p) − y], I = 1 when visit k+1 showed a change, p = visits a day.
    It starts at the smoothed rate, and stays there for a page never seen to change.
    """

    name: ClassVar[str] = "sa"

    def __init__(self, *, eta: float = 0.75) -> None:
        self.eta = eta

    def rate(self, pages: Pages) -> FloatArray:
        start = smoothed(pages)
        visits_a_day = pages.n_compared / np.maximum(pages.exposure, MIN_DAYS)
        learned = _approach(*outcomes(pages), visits_a_day, start, self.eta)
        return bounded(np.where(pages.n_changes > 0, learned, start))


@njit(cache=True)
def _approach(
    start: IntArray, changed: BoolArray, visits: FloatArray, begin: FloatArray, eta: float
) -> FloatArray:
    rate = begin.copy()
    for page in range(len(rate)):
        for k in range(start[page + 1] - start[page]):
            seen = rate[page] + visits[page] if changed[start[page] + k] else 0.0
            rate[page] += (k + 1.0) ** -eta * (seen - rate[page])
    return rate
