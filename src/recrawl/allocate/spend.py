"""How are budgets spent at one price each? The optimum of any objective, for one group or many."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.allocate.root import NARROW, bracket, log_ratio

if TYPE_CHECKING:
    from recrawl.allocate.objective import Fill, Objective
    from recrawl.model import Column, FloatArray, IntArray

BLOCK = 1 << 17  #: pages a thread takes at a time
SAMPLE = 50_000  #: pages that tell the price well enough to begin with


def spend(objective: Objective, rate: FloatArray, ratio: FloatArray, budget: float) -> FloatArray:
    """Visits a day for each page, summing to `budget`."""
    return _solved(Purses(objective, rate, ratio, np.array([budget])))


def spend_each(
    objective: Objective, rate: FloatArray, ratio: FloatArray, budget: FloatArray, group: IntArray
) -> FloatArray:
    """The same for many groups with a budget each; `group` numbers them from 0, none empty."""
    return _solved(Purses(objective, rate, ratio, budget, group))


@dataclass(frozen=True)
class Purses:
    """Pages, and the budgets they share."""

    objective: Objective
    rate: FloatArray
    ratio: FloatArray
    budget: FloatArray
    group: IntArray | None = None  #: none: all share one

    def visits(self, log_price: FloatArray, out: FloatArray) -> FloatArray:
        """Write the visits at these prices; what each group spends."""
        if self.group is None:
            price = float(np.exp(log_price[0]))
            return np.array([fill_all(self.objective.fill, self.rate, self.ratio, price, out)])
        priced = self.ratio / np.exp(log_price)[self.group]
        fill_all(self.objective.fill, self.rate, priced, 1.0, out)
        return self.total(out)

    def total(self, column: FloatArray) -> FloatArray:
        """Sum over each group."""
        if self.group is None:
            return np.array([column.sum()])
        return np.asarray(np.bincount(self.group, column, len(self.budget)), dtype=np.float64)

    def each(self, column: Column) -> Column:
        """The group's value for each of its pages."""
        return column if self.group is None else column[self.group]

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The price cannot lie beyond the worths of a visit where x is the same for all pages."""
        value = self.objective.value(self.total(self.rate) / self.budget)
        least, most = np.full(len(self.budget), np.inf), np.zeros(len(self.budget))
        if self.group is None:
            least[0], most[0] = self.ratio.min(), self.ratio.max()
        else:
            np.minimum.at(least, self.group, self.ratio)
            np.maximum.at(most, self.group, self.ratio)
        return np.log(value * least) - NARROW, np.log(value * most) + NARROW

    def guess(self) -> FloatArray:
        """A first price: from a sample of the pages, or right where budgets are ample."""
        step = len(self.rate) // SAMPLE
        if self.group is None and step > 1:
            rate, ratio = self.rate[::step].copy(), self.ratio[::step].copy()
            part = Purses(self.objective, rate, ratio, self.budget * (len(rate) / len(self.rate)))
            low, high = _prices(part, np.empty_like(rate))
            return (low + high) / 2.0
        load = self.total(self.rate)
        root = self.total(self.rate * np.sqrt(self.ratio)) / load
        return np.log(self.objective.value(load / self.budget)) + 2.0 * np.log(root)


def _prices(purses: Purses, out: FloatArray) -> tuple[FloatArray, FloatArray]:
    def excess(log_price: FloatArray) -> FloatArray:
        return log_ratio(purses.visits(log_price, out), purses.budget)

    return bracket(excess, *purses.bounds(), purses.guess())


def _solved(purses: Purses) -> FloatArray:
    """A visit may be worth nearly the same over a wide range of rates.

    Neighbouring prices are then too coarse to meet the budget. The optimum lies between their
    rates, and every page in between is worth the price.
    """
    out = np.empty_like(purses.rate)
    low, high = _prices(purses, out)
    spent = purses.visits(low, out)
    if (low < high).any():
        more, out = out, np.empty_like(out)
        less = purses.visits(high, out)
        gap = np.maximum(spent - less, np.finfo(float).tiny)
        part = np.where(low < high, np.clip((purses.budget - less) / gap, 0.0, 1.0), 1.0)
        out += (more - out) * purses.each(part)
        spent = purses.total(out)
    out *= purses.each(purses.budget / spent)
    return out


def fill_all(
    fill: Fill, rate: FloatArray, ratio: FloatArray, price: float, out: FloatArray
) -> float:
    """Write all visits, large columns by several threads; their sum, whoever was first."""

    def block(start: int) -> float:
        rows = slice(start, start + BLOCK)
        fill(rate[rows], ratio[rows], price, out[rows])
        return float(out[rows].sum())

    starts = range(0, len(rate), BLOCK)
    if len(starts) == 1:
        return block(0)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return float(np.sum(list(threads.map(block, starts))))
