"""Which pages now, for a declared objective?

One frame (Olston & Pandey 2008): a page fetched T days ago costs C(T) a day, and the page to fetch
is the one with the highest U(T) = T·C(T) − ∫₀ᵀ C. Written with x = λT; λ in changes a day, > 0.
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.polynomial.polynomial import polyval

from recrawl import registry
from recrawl.policies.unlearned import Unlearned

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import Rate

#: Below this x the closed forms lose digits to cancellation, and the series has them all.
NEAR: Final = 0.1
TERMS: Final = range(2, 12)
STALE: Final = [0.0, 0.0] + [(-1) ** k * (k - 1) / factorial(k) for k in TERMS]
MISSED: Final = [0.0, 0.0] + [(-1) ** k / factorial(k) for k in TERMS]
LATE: Final = [0.0, 0.0, 0.0] + [-c for c in STALE[3:]]


def change_ratio(rate: FloatArray, days: FloatArray) -> FloatArray:
    """Changes found a fetch: ranks as 1 − (1 + x)e^{−x}, so as x itself, which never saturates."""
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


def _stale(x: FloatArray) -> FloatArray:
    return 1.0 - (1.0 + x) * np.exp(-x)


def _joined(
    x: FloatArray, series: list[float], closed: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    near = np.asarray(polyval(np.minimum(x, NEAR), series), dtype=np.float64)
    return np.where(x < NEAR, near, closed(np.maximum(x, NEAR)))


INDICES: Final[dict[str, Callable[[FloatArray, FloatArray], FloatArray]]] = {
    "change-ratio": change_ratio,
    "freshness": freshness,
    "age": age,
    "harmonic": harmonic,
}


class Objective(Unlearned):
    """An index at an estimated rate; `rate` names a registered one."""

    name: ClassVar[str]

    def __init__(self, *, rate: str = "smoothed") -> None:
        self.rate = rate

    def score(self, pages: Pages, now: Time) -> FloatArray:
        estimator: Rate = registry.make("rate", self.rate)
        return INDICES[self.name](estimator.rate(pages), pages.days_since_visit(now))


class ChangeRatio(Objective):
    """Most changes found a fetch."""

    name: ClassVar[str] = "change-ratio"


class Freshness(Objective):
    """Most copies up to date."""

    name: ClassVar[str] = "freshness"


class Age(Objective):
    """Least time since a copy went out of date."""

    name: ClassVar[str] = "age"


class Harmonic(Objective):
    """Fewest missed changes, the first of a copy counting most (Kolobov et al. 2019)."""

    name: ClassVar[str] = "harmonic"
