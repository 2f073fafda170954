"""How often does a page change, if visits are regular and see at most one change each?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.rates.bounds import MIN_DAYS, bounded
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, Pages


def cho(n: IntArray | FloatArray, x: IntArray | FloatArray) -> FloatArray:
    """Bias-reduced changes an interval: −ln((n − X + ½) / (n + ½)); 0 where X = 0."""
    rate: FloatArray = np.log((n + 0.5) / (n - x + 0.5))
    return rate


class Cho:
    """Cho & Garcia-Molina's estimator (TOIT 2003) over the mean interval.

    A page never seen to change has the smoothed rate, ½ / (exposure + ½), which is below that of
    any page seen to change once in the same time.
    """

    name: ClassVar[str] = "cho"

    def rate(self, pages: Pages) -> FloatArray:
        per_interval = cho(pages.n_compared, pages.n_changes)
        per_day = per_interval * pages.n_compared / np.maximum(pages.exposure, MIN_DAYS)
        return bounded(np.where(pages.n_changes > 0, per_day, smoothed(pages)))
