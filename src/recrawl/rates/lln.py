"""How often does a page change, if it is visited at random times? By the law of large numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.rates.bounds import MIN_DAYS, bounded
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages


class Lln:
    """Avrachenkov, Patil & Thoppe (2020): p·X / (n + α − X), p = visits a day.

    Consistent for exponential gaps between visits; for regular ones use `cho`. A page never seen
    to change has the smoothed rate.
    """

    name: ClassVar[str] = "lln"

    def __init__(self, *, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def rate(self, pages: Pages) -> FloatArray:
        n, x = pages.n_compared, pages.n_changes
        visits_a_day = n / np.maximum(pages.exposure, MIN_DAYS)
        return bounded(np.where(x > 0, visits_a_day * x / (n + self.alpha - x), smoothed(pages)))
