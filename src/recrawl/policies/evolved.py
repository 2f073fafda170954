"""Which pages now, by a formula bred from a history?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.evolve.evaluate import scores
from recrawl.evolve.formula_file import Formula, load_formula
from recrawl.evolve.terminals import BASIC, page_terminals
from recrawl.evolve.text import parse
from recrawl.policies.stateless import Stateless

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time

MAX_SCORE = float(np.finfo(np.float64).max)


class Evolved(Stateless):
    """The formula in a `file` that `recrawl evolve` wrote; without one GP4C's own, t·X."""

    name: ClassVar[str] = "evolved"

    def __init__(self, *, file: str = "") -> None:
        self.file = file

    def score(self, pages: Pages, now: Time) -> FloatArray:
        if not hasattr(self, "formula_"):
            self.formula_ = load_formula(self.file) if self.file else Formula(parse("t * X", BASIC))
        expression, days = self.formula_.expression, self.formula_.cycle_days
        terminals = page_terminals(expression.terminals, pages, now, cycle_days=days)
        return np.clip(scores(expression, terminals), -MAX_SCORE, MAX_SCORE)
