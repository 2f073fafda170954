"""Which price makes the pages spend the budget? Roots of falling functions, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import FloatArray

CLOSE = 1e-13  #: relative to the budget
NARROW = 1e-12  #: relative to the price
STEPS = 300  #: 3 to 8 where all is smooth; bisection alone would need 60


def bracket(
    excess: Callable[[FloatArray], FloatArray],
    low: FloatArray,
    high: FloatArray,
    guess: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Prices just below and just above each root, the same price twice where it is met.

    All in logarithms, in which budgets are nearly straight lines of prices: secants, kept within
    [low, high], and halving wherever they do not help. `excess` is log(spent / budget).
    """
    here = np.clip(guess, low, high)
    before, value_before = here, np.full_like(here, np.nan)
    best = np.full_like(here, np.inf)
    for _ in range(STEPS):
        value = excess(here)
        met = np.abs(value) <= CLOSE
        low = np.where(met | (value > 0.0), here, low)
        high = np.where(met | (value < 0.0), here, high)
        if (high - low <= NARROW).all():
            break
        trial = here - value / _slope(here - before, value - value_before)
        # Halving whenever the best is not bettered by a fifth bounds the number of steps. The first
        # step, along a guessed slope, does so for all objectives.
        helps = (low < trial) & (trial < high) & (np.abs(value) <= 0.8 * best)
        before, value_before, best = here, value, np.minimum(best, np.abs(value))
        here = np.where(helps, trial, (low + high) / 2.0)
    return low, high


def _slope(step: FloatArray, rise: FloatArray) -> FloatArray:
    """Of the last secant; at first −1, as where budgets are scarce (−⅓ to −½ where ample)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = rise / step
    return np.where(slope < 0.0, slope, -1.0)


def log_ratio(spent: FloatArray, budget: FloatArray) -> FloatArray:
    """How far above the budget, finite even where nothing is spent."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.clip(np.log(spent / budget), -700.0, 700.0))
