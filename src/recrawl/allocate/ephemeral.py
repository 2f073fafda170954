"""Visit rates for the most worth of new content, which loses half of it every few days.

Lefortier et al. 2013, Avrachenkov & Borkar 2018. Content appears λ times a day and is worth e^{−μs}
at the age s, so f evenly spaced visits a day gain λ·f/μ·(1 − e^{−μ/f}). That is the share of fresh
copies of a page that changes μ times a day, of weight λ: what is slow to lose its worth is easy to
find in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.allocate.freshness import freshness_rates

if TYPE_CHECKING:
    from recrawl.model import FloatArray


def ephemeral_rates(rate: FloatArray, budget: float, half_life: float) -> FloatArray:
    """Visits a day for each page, summing to `budget`; `half_life` in days."""
    return freshness_rates(np.full(len(rate), np.log(2.0) / half_life), budget, rate)
