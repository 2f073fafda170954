"""Which pages now, by a formula learned from a history?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.evolve.evaluate import scores
from recrawl.evolve.file import Formula, load
from recrawl.evolve.terminals import BASIC, of_pages
from recrawl.evolve.text import parse
from recrawl.policies.unlearned import Unlearned

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time

LARGEST = float(np.finfo(np.float64).max)


class Evolved(Unlearned):
    """The formula in a `file` that `recrawl evolve` wrote; without one GP4C's own, t·X."""

    name: ClassVar[str] = "evolved"

    def __init__(self, *, file: str = "") -> None:
        self.file = file

    def score(self, pages: Pages, now: Time) -> FloatArray:
        if not hasattr(self, "formula_"):
            self.formula_ = load(self.file) if self.file else Formula(parse("t * X", BASIC))
        given, days = self.formula_.expression, self.formula_.cycle_days
        found = scores(given, of_pages(given.terminals, pages, now, cycle_days=days))
        return np.clip(found, -LARGEST, LARGEST)
