"""How likely is yes, given rows of features of one page? A calibrated machine a page.

As Radinsky & Bennett (2013) do: a support vector machine, and Platt's sigmoid on what it says of
examples that it was not taught with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import rows_of
from recrawl.papers.radinsky.learners.platt import platt, probability
from recrawl.papers.radinsky.learners.svm import fit, polynomial

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, KeyArray

LEAST = 8  #: examples of a page that a machine needs; with fewer its share of changes is used
MOST = 100  #: of a page that it is taught with, the newest
FOLDS = 3
COST = 1.0


@dataclass(frozen=True)
class Machine:
    """One page's."""

    rows: FloatArray  #: standardised examples
    low: FloatArray  #: least of each of their columns
    high: FloatArray
    mean: FloatArray
    spread: FloatArray
    weight: FloatArray
    threshold: float
    line: tuple[float, float]

    def chance(self, asked: FloatArray) -> FloatArray:
        scaled = np.nan_to_num((asked - self.mean) / self.spread)
        # Beyond its examples a cubic says anything: of a page long unseen, that it never changes.
        scaled = np.clip(scaled, self.low, self.high)
        kernel = polynomial(scaled @ self.rows.T, asked.shape[1])
        return probability(kernel @ self.weight - self.threshold, self.line)


@dataclass(frozen=True)
class Machines:
    """The chance of yes as a function of rows and the pages they are of."""

    page: KeyArray  #: with examples, ascending
    many: FloatArray  #: examples of each
    changes: FloatArray  #: those that are yes
    found: dict[int, Machine]  #: by place among these pages

    def __call__(self, rows: FloatArray, page: KeyArray) -> FloatArray:
        at = rows_of(page, self.page)
        known = at >= 0
        many, changes = self.many[at] * known, self.changes[at] * known
        out: FloatArray = (changes + 0.5) / (many + 1.0)
        for i in np.flatnonzero(known & np.isin(at, list(self.found))):
            out[i] = self.found[int(at[i])].chance(rows[i : i + 1])[0]
        return out


def machines(rows: FloatArray, yes: BoolArray, page: KeyArray) -> Machines:
    """Teach one for each page that has examples enough of both kinds."""
    order = np.argsort(page, kind="stable")
    pages, first, many = np.unique(page[order], return_index=True, return_counts=True)
    changes = np.add.reduceat(yes[order].astype(np.float64), first)
    found = {}
    for place, mine in enumerate(np.split(order, first[1:])):
        mine = mine[-MOST:]
        if len(mine) >= LEAST and 1 < yes[mine].sum() < len(mine) - 1:
            found[place] = _taught(rows[mine], yes[mine])
    return Machines(pages, many.astype(np.float64), changes, found)


def _taught(rows: FloatArray, yes: BoolArray) -> Machine:
    known = np.isfinite(rows)
    many = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, rows, 0.0).sum(axis=0) / many
    gap = np.where(known, rows - mean, 0.0)
    spread = np.sqrt((gap**2).sum(axis=0) / many)
    spread = np.where(spread > 1e-12, spread, np.inf)  # one that did not vary says nothing
    scaled = gap / spread
    kernel = polynomial(scaled @ scaled.T, rows.shape[1])
    y, cost = np.where(yes, 1.0, -1.0), np.full(len(yes), COST)
    unseen = np.empty(len(yes))
    number = np.where(yes, np.cumsum(yes), np.cumsum(~yes))  # so that no fold lacks either kind
    for fold in range(FOLDS):
        out = number % FOLDS == fold
        weight, threshold, _ = fit(
            np.ascontiguousarray(kernel[np.ix_(~out, ~out)]), y[~out], cost[~out]
        )
        unseen[out] = kernel[np.ix_(out, ~out)] @ weight - threshold
    weight, threshold, _ = fit(kernel, y, cost)
    ends = scaled.min(axis=0), scaled.max(axis=0)
    return Machine(scaled, *ends, mean, spread, weight, float(threshold), platt(unseen, yes))
