"""What one more visit is worth: all that a solver needs to know of an objective.

All objectives fit one form (Olston & Pandey 2008). A page of weight w that changes λ times a day
and is visited f times a day misses x = λ/f changes a visit. One more visit is worth w/λᵏ·value(x),
with value rising from 0. At the optimum that is the same for all visited pages: the price of a
visit. So at price p a page gets f = λ/x with value(x) = p/r, where r = w/λᵏ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.model import FloatArray

if TYPE_CHECKING:
    from recrawl.model import Column

#: `fill(rate, ratio, price, out)` writes the visits a day at that price.
Fill = Callable[[FloatArray, FloatArray, float, FloatArray], None]


@dataclass(frozen=True)
class AllocationObjective:
    """The worth of a visit, and its inverse over columns."""

    value: Callable[[FloatArray], FloatArray]
    fill: Fill
    power: int = 1  #: k

    def ratio(self, rate: FloatArray, weight: FloatArray) -> FloatArray:
        """Weights count relative to the largest, so that their unit cannot overflow."""
        return np.asarray(weight / weight.max() / rate**self.power)


def columns(
    rate: FloatArray, budget: float, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Rates and weights as the solver needs them; raises BadInput if there is no optimum."""
    if not 0.0 < budget < np.inf:
        raise BadInput(
            f"budget must be a finite number of visits a day above 0. Got {budget!r} instead; "
            "for no visits at all, allocate nothing."
        )
    rate = _positive("rate", rate)
    weight = np.ones_like(rate) if weight is None else _positive("weight", weight)
    if rate.shape != weight.shape:
        raise BadInput(
            "weight must have a value for each page, as rate has. "
            f"Got {weight.shape} for {rate.shape}; leave it out if all pages count the same."
        )
    return rate, weight


def _positive(name: str, column: Column) -> FloatArray:
    column = np.ascontiguousarray(column, dtype=np.float64)
    if column.ndim != 1 or not len(column):
        raise BadInput(f"{name} must be a column of at least one page. Got shape {column.shape}.")
    least, most = float(column.min()), float(column.max())
    if not (least > 0.0 and most < np.inf):  # NaN fails both
        raise BadInput(
            f"{name} must be finite and above 0 for every page. Got values from {least} to {most}; "
            "leave out the pages that are not."
        )
    return column
