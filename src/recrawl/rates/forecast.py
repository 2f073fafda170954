"""What would a visit find, if changes come at a steady rate? Poisson: p = 1 − e^{−λt}."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import Forecast

if TYPE_CHECKING:
    from recrawl.model import FloatArray


def from_rate(rate: FloatArray, days: FloatArray) -> Forecast:
    """Probability of a change `days` after the last visit, at `rate` changes a day."""
    return Forecast(p_change=-np.expm1(-rate * days))
