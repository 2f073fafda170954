"""The lowest and highest rate. Others divide by rates, so no rate is 0 or infinite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.model import FloatArray

MIN_RATE = 1e-9  #: changes a day: one in 2.7 million years
MAX_RATE = 1e9  #: changes a day
MIN_DAYS = 1e-9  #: between two visits, for an estimator: 86 µs


def bounded(rate: FloatArray) -> FloatArray:
    """The rates clipped to `MIN_RATE` … `MAX_RATE`."""
    return np.clip(rate, MIN_RATE, MAX_RATE)
