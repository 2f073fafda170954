"""How often does a page change, if its visits are irregular? The most likely rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numba import njit

from recrawl.errors import BadInput
from recrawl.history.intervals import past
from recrawl.rates.bounds import MAX_RATE, MIN_DAYS, MIN_RATE, bounded

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Pages

MAX_STEPS = 100  #: Newton needs 4 to 8
PRECISION = 1e-12


class Mle:
    """Root of Σ_changed τ/(e^{λτ} − 1) = Σ_unchanged τ (Cho & Garcia-Molina 2003).

    One prior changed and one prior unchanged interval of `prior` days keep it finite and
    above 0 (Kolobov et al. 2019). With `prior=0` a page that changed at every visit gets
    `bounds.MAX_RATE`, and one that never changed `bounds.MIN_RATE`.
    """

    name: ClassVar[str] = "mle"

    def __init__(self, *, prior: float = 0.5) -> None:
        self.prior = prior

    def rate(self, pages: Pages) -> FloatArray:
        if not 0.0 <= self.prior < np.inf:
            raise BadInput(f"The prior of mle is in days and 0 or more. Got {self.prior} instead.")
        visits = past(pages)
        return bounded(most_likely(visits.start, visits.days, visits.changed, self.prior))


@njit(cache=True)
def most_likely(start: IntArray, days: FloatArray, changed: BoolArray, prior: float) -> FloatArray:
    """The root for each page; `MIN_RATE` or `MAX_RATE` where there is none."""
    rate = np.empty(len(start) - 1)
    for page in range(len(rate)):
        lo, hi = start[page], start[page + 1]
        rate[page] = _root(days[lo:hi], changed[lo:hi], prior)
    return rate


@njit(cache=True)
def _root(days: FloatArray, changed: BoolArray, prior: float) -> float:
    """Newton on the logarithm of both sides.

    τ/(e^{λτ} − 1) is log-convex in λ, and so is their sum: from a start below the root every step
    stays below it. x/(e^x − 1) ≥ 1 − x/2 gives that start.
    """
    n_changed, in_changed, in_unchanged = _totals(days, changed, prior)
    if n_changed == 0.0:
        return MIN_RATE
    if in_unchanged < MIN_DAYS:
        return MAX_RATE
    rate = n_changed / (in_changed / 2.0 + in_unchanged)
    for _ in range(MAX_STEPS):
        side, slope = _changed_side(days, changed, prior, rate)
        step = side / slope * np.log(side / in_unchanged)
        rate += step
        if step <= PRECISION * rate:
            break
    return rate


@njit(cache=True)
def _totals(days: FloatArray, changed: BoolArray, prior: float) -> tuple[float, float, float]:
    n_changed = 1.0 if prior > 0.0 else 0.0
    in_changed, in_unchanged = prior, prior
    for i in range(len(days)):
        if changed[i]:
            n_changed += 1.0
            in_changed += max(days[i], MIN_DAYS)
        else:
            in_unchanged += days[i]
    return n_changed, in_changed, in_unchanged


@njit(cache=True)
def _changed_side(
    days: FloatArray, changed: BoolArray, prior: float, rate: float
) -> tuple[float, float]:
    """Σ_changed τ/(e^{λτ} − 1) and its downward slope, with the imaginary interval."""
    side, slope = 0.0, 0.0
    for i in range(-1, len(days)):
        if prior > 0.0 if i < 0 else changed[i]:
            tau = prior if i < 0 else max(days[i], MIN_DAYS)
            odds = 1.0 / np.expm1(rate * tau)
            side += tau * odds
            slope += tau * tau * odds * (1.0 + odds)
    return side, slope
