"""Rates from a weighted share of the visits; see `weighted`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.rates.bounds import bounded
from recrawl.rates.weighted import READINGS, Cycles, named_parts

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages


class Adaptive:
    """A reading of `weighted` in changes a day, with cycles of `cycle_days`.

    Zeros become `bounds.MIN_RATE`. A rate has no `now`: the current cycle is the one after the
    latest visit to any of the pages.
    """

    name: ClassVar[str]

    def __init__(self, *, cycle_days: float = 1.0) -> None:
        self.cycle_days = cycle_days

    def rate(self, pages: Pages) -> FloatArray:
        latest = float(np.fmax.reduce(pages.last_visit, initial=0.0))
        cycles = Cycles.at(latest, pages, self.cycle_days)
        return bounded(READINGS[self.name](pages, cycles) / self.cycle_days)


#: One class per reading, so that the registry finds each by its name.
globals().update({part.__name__: part for part in named_parts(Adaptive, READINGS)})
