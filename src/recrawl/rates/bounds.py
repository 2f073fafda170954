"""How slow or fast may an estimate be? Rates feed divisions, so both ends are declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.model import FloatArray

LEAST = 1e-9  #: changes a day: one in 2.7 million years
MOST = 1e9  #: changes a day
INSTANT = 1e-9  #: days, 86 µs: two visits are never closer for an estimator


def bounded(rate: FloatArray) -> FloatArray:
    """The rates, none below `LEAST` or above `MOST`; keeps their order."""
    return np.clip(rate, LEAST, MOST)
