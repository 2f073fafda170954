"""What is a visit worth now, for each objective? Formulas of change rate and age.

One frame (Olston & Pandey 2008): a page fetched T days ago costs C(T) a day, and the page to fetch
is the one with the highest U(T) = T·C(T) − ∫₀ᵀ C. Written with x = λT; λ in changes a day, > 0.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.polynomial.polynomial import polyval

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import FloatArray

#: Below this x the closed forms lose digits to cancellation; the series does not.
SERIES_BELOW: Final = 0.1
TERMS: Final = range(2, 12)
HALF_LIFE_DAYS: Final = 2.0  #: of the worth of ephemeral content, if not given
STALE: Final = [0.0, 0.0] + [(-1) ** k * (k - 1) / factorial(k) for k in TERMS]
MISSED: Final = [0.0, 0.0] + [(-1) ** k / factorial(k) for k in TERMS]
LATE: Final = [0.0, 0.0, 0.0] + [-c for c in STALE[3:]]


def change_ratio(rate: FloatArray, days: FloatArray) -> FloatArray:
    """Changes per fetch: ranks as 1 − (1 + x)e^{−x}, so as x itself, which never saturates."""
    return rate * days


def freshness(rate: FloatArray, days: FloatArray) -> FloatArray:
    """Time out of date: C = 1 − e^{−x}, U = (1 − (1 + x)e^{−x}) / λ."""
    return _joined(rate * days, STALE, _stale) / rate


def harmonic(rate: FloatArray, days: FloatArray) -> FloatArray:
    """Harmonic number of missed changes: C = Ein(x), U = (x − 1 + e^{−x}) / λ."""
    return _joined(rate * days, MISSED, lambda x: x + np.expm1(-x)) / rate


def age(rate: FloatArray, days: FloatArray) -> FloatArray:
    """Days since the first missed change: U = (x²/2 − 1 + (1 + x)e^{−x}) / λ²."""
    return _joined(rate * days, LATE, lambda x: x * x / 2.0 - _stale(x)) / rate**2


def ephemeral(rate: FloatArray, days: FloatArray, half_life: float = HALF_LIFE_DAYS) -> FloatArray:
    """Content that loses half of its worth in `half_life` days (Lefortier et al. 2013).

    Each change brings content of worth e^{−μs} at the age s, so a visit after T days is worth
    λ/μ·(1 − e^{−μT}), and U = λ/μ·(1 − (1 + μT)e^{−μT}).
    """
    decay = np.full_like(rate, np.log(2.0) / half_life)
    return rate * freshness(decay, days)


def _stale(x: FloatArray) -> FloatArray:
    return 1.0 - (1.0 + x) * np.exp(-x)


def _joined(
    x: FloatArray, series: list[float], closed: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    small = np.asarray(polyval(np.minimum(x, SERIES_BELOW), series), dtype=np.float64)
    return np.where(x < SERIES_BELOW, small, closed(np.maximum(x, SERIES_BELOW)))


INDICES: Final[dict[str, Callable[[FloatArray, FloatArray], FloatArray]]] = {
    "change-ratio": change_ratio,
    "freshness": freshness,
    "age": age,
    "harmonic": harmonic,
    "ephemeral": ephemeral,
}
