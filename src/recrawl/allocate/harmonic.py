"""Visit rates for the lowest harmonic staleness, which is H(n) after n missed changes.

Kolobov, Peres, Lu & Horvitz 2019 (LambdaCrawl). With visits at random times it costs
w·ln(1 + x), x = Δ/ρ, and one more visit is worth w/Δ·x²/(1+x). That has no limit as visits become
rare: every page is visited. If a server announces every change (a sitemap that can be trusted), the
page is visited with probability p at each of them instead, which costs −w·ln p.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.allocate.objective import AllocationObjective, columns
from recrawl.allocate.root import PRICE_TOLERANCE, bracket, log_ratio
from recrawl.allocate.spend import fill_all, spend
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray


def harmonic_rates(rate: FloatArray, budget: float, weight: FloatArray | None = None) -> FloatArray:
    """Visits a day for each page, summing to `budget`; no change is announced."""
    rate, weight = columns(rate, budget, weight)
    return spend(HARMONIC, rate, HARMONIC.ratio(rate, weight), budget)


def complete_probabilities(
    rate: FloatArray, budget: float, weight: FloatArray | None = None
) -> FloatArray:
    """The probability of a visit at each announced change; rate × p sums to `budget`, or all are 1.

    >>> import numpy as np
    >>> complete_probabilities(np.array([1.0, 2.0, 4.0]), 3.0).tolist()
    [1.0, 0.5, 0.25]
    """
    visits = mixed_rates(rate, budget, np.ones(len(rate), np.bool_), weight)
    return np.asarray(np.minimum(visits / rate, 1.0))


def mixed_rates(
    rate: FloatArray, budget: float, announced: BoolArray, weight: FloatArray | None = None
) -> FloatArray:
    """Visits a day if the changes of some pages are announced and those of the others are not.

    The paper searches for the best split of the budget. In the best split a visit is worth the
    same on both sides, so one price for all pages finds it.
    """
    rate, weight = columns(rate, budget, weight)
    if announced.shape != rate.shape or announced.dtype != np.bool_:
        raise BadInput(
            f"announced must be true or false for each of {len(rate)} pages. Got {announced!r}."
        )
    if announced.all() and rate.sum() <= budget * (1.0 + PRICE_TOLERANCE):
        return rate.copy()
    ratio = HARMONIC.ratio(rate, weight)
    sides = [(_fill_announced, announced), (_fill, ~announced)]
    parts = [(fill, rate[rows], ratio[rows], np.empty(rows.sum())) for fill, rows in sides]

    def excess(log_price: FloatArray) -> FloatArray:
        price = float(np.exp(log_price[0]))
        spent = sum(fill_all(*part[:3], price, part[3]) for part in parts if len(part[3]))
        return log_ratio(np.array([spent]), np.array([budget]))

    ends = _ends(rate, ratio, budget, announced)
    excess(bracket(excess, *ends, (ends[0] + ends[1]) / 2.0)[0])
    out = np.empty_like(rate)
    out[announced], out[~announced] = parts[0][3], parts[1][3]
    free = out < np.where(announced, rate, np.inf)  # those not yet visited at every change
    out[free] *= (budget - out[~free].sum()) / out[free].sum()
    return out


def _ends(
    rate: FloatArray, ratio: FloatArray, budget: float, announced: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the log price: all to the pages not announced, or the same x for all pages."""
    x = rate.sum() / budget
    least = HARMONIC.value(rate[~announced].sum() / budget) if not announced.all() else x
    low, high = ratio.min() * min(least, x), ratio.max() * max(1.0, x)
    return np.log([low]) - 1e-9, np.log([high]) + 1e-9


def _value(x: FloatArray) -> FloatArray:
    return np.asarray(x * x / (1.0 + x))


@njit(cache=True, nogil=True)
def _fill(rate: FloatArray, ratio: FloatArray, price: float, out: FloatArray) -> None:
    for i in range(len(rate)):
        q = 4.0 * ratio[i] / price
        # (−Δ + √(Δ² + 4wΔ/price)) / 2, in the form that does not cancel
        out[i] = 0.5 * rate[i] * q / (1.0 + np.sqrt(1.0 + q))


@njit(cache=True, nogil=True)
def _fill_announced(rate: FloatArray, ratio: FloatArray, price: float, out: FloatArray) -> None:
    for i in range(len(rate)):
        out[i] = rate[i] * min(1.0, ratio[i] / price)


HARMONIC = AllocationObjective(_value, _fill)
