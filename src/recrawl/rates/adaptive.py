"""How often does a page change, as a weighted share of its visits? See `weighted`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.rates.bounds import bounded
from recrawl.rates.weighted import READINGS, Cycles

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages


class Adaptive:
    """A reading of `weighted` as changes a day, a cycle being `cycle_days`.

    Zeros become `bounds.LEAST`. A rate knows no `now`: the current cycle is the one after the
    latest visit to any of the pages.
    """

    name: ClassVar[str]

    def __init__(self, *, cycle_days: float = 1.0) -> None:
        self.cycle_days = cycle_days

    def rate(self, pages: Pages) -> FloatArray:
        latest = float(np.fmax.reduce(pages.last_visit, initial=0.0))
        cycles = Cycles.at(latest, pages, self.cycle_days)
        return bounded(READINGS[self.name](pages, cycles) / self.cycle_days)


class NadText(Adaptive):
    """Every visit counts alike; as the thesis words it."""

    name: ClassVar[str] = "nad-text"


class SadText(Adaptive):
    """Only the last visit counts; as the thesis words it."""

    name: ClassVar[str] = "sad-text"


class AadText(Adaptive):
    """A visit counts the more the later it was; as the thesis words it."""

    name: ClassVar[str] = "aad-text"


class GadText(Adaptive):
    """A visit counts twice the one before it; as the thesis words it."""

    name: ClassVar[str] = "gad-text"


class NadCode(Adaptive):
    """Every visit counts alike; as its code reckons, by cycle."""

    name: ClassVar[str] = "nad-code"


class SadCode(Adaptive):
    """Only the last visit counts; as its code reckons, by cycle."""

    name: ClassVar[str] = "sad-code"


class AadCode(Adaptive):
    """A visit counts the more the later it was; as its code reckons, by cycle."""

    name: ClassVar[str] = "aad-code"


class GadCode(Adaptive):
    """A visit counts twice the one before it; as its code reckons, by cycle."""

    name: ClassVar[str] = "gad-code"
