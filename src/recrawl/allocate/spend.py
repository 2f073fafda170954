"""Spends budgets at one price each: the optimum of any objective, for one group or many."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.allocate.root import PRICE_TOLERANCE, bracket, log_ratio

if TYPE_CHECKING:
    from recrawl.allocate.objective import AllocationObjective, Fill
    from recrawl.model import Column, FloatArray, IntArray

PAGES_PER_BLOCK = 1 << 17  #: that a thread takes at a time
PAGES_IN_SAMPLE = 50_000  #: enough for a first guess of the price


def spend(
    objective: AllocationObjective, rate: FloatArray, ratio: FloatArray, budget: float
) -> FloatArray:
    """Visits a day for each page, summing to `budget`."""
    return _solve(SharedBudgets(objective, rate, ratio, np.array([budget])))


def spend_each(
    objective: AllocationObjective,
    rate: FloatArray,
    ratio: FloatArray,
    budget: FloatArray,
    group: IntArray,
) -> FloatArray:
    """The same for many groups with a budget each; `group` numbers them from 0, none empty."""
    return _solve(SharedBudgets(objective, rate, ratio, budget, group))


@dataclass(frozen=True)
class SharedBudgets:
    """Pages, and the budgets that they share."""

    objective: AllocationObjective
    rate: FloatArray
    ratio: FloatArray
    budget: FloatArray
    group: IntArray | None = None  #: None: all pages share one

    def visits(self, log_price: FloatArray, out: FloatArray) -> FloatArray:
        """Write the visits a day at these prices to `out`; returns what each group spends."""
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
        """Bounds of the log price: the least and most that a visit is worth if all x are equal."""
        value = self.objective.value(self.total(self.rate) / self.budget)
        least, most = np.full(len(self.budget), np.inf), np.zeros(len(self.budget))
        if self.group is None:
            least[0], most[0] = self.ratio.min(), self.ratio.max()
        else:
            np.minimum.at(least, self.group, self.ratio)
            np.maximum.at(most, self.group, self.ratio)
        return np.log(value * least) - PRICE_TOLERANCE, np.log(value * most) + PRICE_TOLERANCE

    def guess(self) -> FloatArray:
        """A first log price: from a sample of the pages, or exact for large budgets."""
        step = len(self.rate) // PAGES_IN_SAMPLE
        if self.group is None and step > 1:
            rate, ratio = self.rate[::step].copy(), self.ratio[::step].copy()
            part = SharedBudgets(
                self.objective, rate, ratio, self.budget * (len(rate) / len(self.rate))
            )
            low, high = _prices(part, np.empty_like(rate))
            return (low + high) / 2.0
        load = self.total(self.rate)
        root = self.total(self.rate * np.sqrt(self.ratio)) / load
        return np.log(self.objective.value(load / self.budget)) + 2.0 * np.log(root)


def _prices(budgets: SharedBudgets, out: FloatArray) -> tuple[FloatArray, FloatArray]:
    def excess(log_price: FloatArray) -> FloatArray:
        return log_ratio(budgets.visits(log_price, out), budgets.budget)

    return bracket(excess, *budgets.bounds(), budgets.guess())


def _solve(budgets: SharedBudgets) -> FloatArray:
    """Visits a day that spend the budgets exactly.

    A visit may be worth nearly the same over a wide range of rates; then no floating-point price
    meets the budget. The optimum lies between the rates of two neighbouring prices.
    """
    out = np.empty_like(budgets.rate)
    low, high = _prices(budgets, out)
    spent = budgets.visits(low, out)
    if (low < high).any():
        more, out = out, np.empty_like(out)
        less = budgets.visits(high, out)
        gap = np.maximum(spent - less, np.finfo(float).tiny)
        part = np.where(low < high, np.clip((budgets.budget - less) / gap, 0.0, 1.0), 1.0)
        out += (more - out) * budgets.each(part)
        spent = budgets.total(out)
    out *= budgets.each(budgets.budget / spent)
    return out


def fill_all(
    fill: Fill, rate: FloatArray, ratio: FloatArray, price: float, out: FloatArray
) -> float:
    """Write all visits to `out`, large columns in several threads; returns their sum."""

    def block(start: int) -> float:
        rows = slice(start, start + PAGES_PER_BLOCK)
        fill(rate[rows], ratio[rows], price, out[rows])
        return float(out[rows].sum())

    starts = range(0, len(rate), PAGES_PER_BLOCK)
    if len(starts) == 1:
        return block(0)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return float(np.sum(list(threads.map(block, starts))))
