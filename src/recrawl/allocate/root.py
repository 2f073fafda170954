"""Finds the price at which pages spend the budget: roots of falling functions, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import FloatArray

BUDGET_TOLERANCE = 1e-13  #: relative
PRICE_TOLERANCE = 1e-12  #: relative
MAX_STEPS = 300  #: smooth functions need 3 to 8, bisection alone 60


def bracket(
    excess: Callable[[FloatArray], FloatArray],
    low: FloatArray,
    high: FloatArray,
    guess: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Log prices just below and just above each root; the same twice if one meets the budget.

    In logarithms the budget is nearly a straight line of the price. So it takes secants, kept
    within [low, high], and halves where they do not help. `excess` is log(spent / budget).
    """
    here = np.clip(guess, low, high)
    before, value_before = here, np.full_like(here, np.nan)
    best = np.full_like(here, np.inf)
    for _ in range(MAX_STEPS):
        value = excess(here)
        met = np.abs(value) <= BUDGET_TOLERANCE
        low = np.where(met | (value > 0.0), here, low)
        high = np.where(met | (value < 0.0), here, high)
        if (high - low <= PRICE_TOLERANCE).all():
            break
        trial = here - value / _slope(here - before, value - value_before)
        # Halving unless the best improves by a fifth bounds the number of steps. The first step,
        # along a guessed slope, improves it for all objectives.
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
    """log(spent / budget), finite even where nothing is spent."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.clip(np.log(spent / budget), -700.0, 700.0))
