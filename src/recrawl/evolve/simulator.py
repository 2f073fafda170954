"""Replays a score function on a change history, by states where possible, else by pages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import BadInput
from recrawl.evolve import page_simulation, state_simulation
from recrawl.evolve.evaluate import n_rows
from recrawl.evolve.terminals import TERMINALS, needs_outcomes, terminal_codes
from recrawl.random import random_bits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from recrawl.evolve.change_history import ChangeHistory
    from recrawl.evolve.expression import Expression
    from recrawl.evolve.state_simulation import Begin
    from recrawl.model import BoolArray, FloatArray, IntArray

    #: New links that visits would show, given pages, cycles of their last visits, and this cycle.
    CountLinks = Callable[[IntArray, IntArray, int], FloatArray]


@dataclass(frozen=True)
class SimulationRun:
    """What a score function found: one number per cycle after warm-up."""

    changed: FloatArray  #: fetches that showed a change
    stale: FloatArray  #: copies that differ from the live page after the fetches
    ndcg: FloatArray  #: of the order of the fetches; empty unless `ndcg`
    links: FloatArray  #: new links found; empty unless counted
    picks: NDArray[np.int32]  #: rows of the pages fetched, by cycle; empty unless kept
    fetches: int
    pages: int

    @property
    def change_ratio(self) -> FloatArray:
        """The share of the fetches that showed a change, by cycle."""
        return self.changed / max(self.fetches, 1)

    @property
    def ncg(self) -> FloatArray:
        """Changes found, as a share of the most that the fetches could find (Santos et al. 2015).

        1 if there was nothing to find. GP4C's program divides by the pages that changed on that
        very day, whether found before or not, and so can exceed 1.
        """
        most = np.minimum(self.changed + self.stale, self.fetches)
        share: FloatArray = np.where(most > 0, self.changed / np.maximum(most, 1.0), 1.0)
        return share

    @property
    def freshness(self) -> FloatArray:
        """The share of the copies that equal the live page, by cycle."""
        return 1.0 - self.stale / self.pages


@dataclass(frozen=True, eq=False)
class Simulator:
    """Replays score functions on one change history, many a second.

    The first `warm_up` cycles visit every page; each later one visits the `fetches` pages with the
    highest scores. Ties go by a priority of pages, drawn with `seed`, the same in all cycles; NaN
    counts as −inf. A share `explore` of the fetches goes to the pages not visited for longest
    instead. `columns` are facts of pages by terminal: a row for each page, and a column for what a
    visit in cycle 0, 1, … shows.
    """

    changes: ChangeHistory
    fetches: int
    warm_up: int = 2
    seed: int = 0
    explore: float = 0.0
    ndcg: bool = False
    columns: Mapping[str, FloatArray] | None = None
    links: CountLinks | None = None
    ties: str = "hash"  #: or "id": the first row wins a tie

    def __post_init__(self) -> None:
        size, cycles = len(self.changes), self.changes.cycles
        if size == 0:
            raise BadInput("A simulation needs at least one page. Got none.")
        if not 0 <= self.fetches <= size:
            raise BadInput(f"fetches must be from 0 to the {size} pages. Got {self.fetches}.")
        if not 0 <= self.warm_up < cycles:
            raise BadInput(
                f"warm_up must leave at least one of the {cycles} cycles. Got {self.warm_up}; "
                "give a smaller one, or a trace of more cycles."
            )
        if not 0 <= self.explore <= 1:
            raise BadInput(f"explore must be a share from 0 to 1. Got {self.explore}.")
        for name, column in (self.columns or {}).items():
            if column.shape != (size, cycles + 1) or not np.isfinite(column).all():
                raise BadInput(
                    f"The column {name!r} must be a finite number for each of {size} pages and of "
                    f"the cycles 0 to {cycles}. It is not; its shape is {column.shape}."
                )

    def run(self, formula: Expression, *, keep: bool = False) -> SimulationRun:
        """Simulate a score function; `keep` records the pages it picks."""
        if self.links is None and set(formula.used()) <= set(TERMINALS):
            return self.run_states(formula, keep=keep)
        return self.run_pages(formula, keep=keep)

    def run_states(self, formula: Expression, *, keep: bool = False) -> SimulationRun:
        """Simulate by states: exact, and the cost does not depend on the number of pages."""
        names = formula.terminals
        results, picks = state_simulation.simulate(
            formula.code,
            formula.value,
            n_rows(formula),
            terminal_codes(names),
            self.words,
            self.contents,
            self.changes.cycles,
            self.changes.cycle_days,
            self.begin_by_outcomes if needs_outcomes(names) else self.begin_by_counts,
            self.quotas,
            self.gain,
            keep,
        )
        return self._result(results, picks, np.empty(0))

    def run_pages(self, formula: Expression, *, keep: bool = False) -> SimulationRun:
        """Simulate by pages: for columns that pages do not share, and to count links."""
        return self._result(*page_simulation.simulate(self, formula, keep=keep))

    def _result(
        self, results: FloatArray, picks: NDArray[np.int32], links: FloatArray
    ) -> SimulationRun:
        if not self.fetches:
            results[2] = 1.0  # no order is wrong
        return SimulationRun(
            changed=results[0],
            stale=results[1],
            ndcg=results[2] if self.ndcg else np.empty(0),
            links=links,
            picks=np.sort(self.order[picks], axis=1).astype(np.int32),
            fetches=self.fetches,
            pages=len(self.changes),
        )

    def column(self, name: str) -> FloatArray:
        """A column of the pages, by its name."""
        if name not in (self.columns or {}):
            given = ", ".join(self.columns or ()) or "none"
            raise BadInput(f"The formula needs the column {name!r} of the pages. Given: {given}.")
        return np.asarray(self.columns[name]) if self.columns else np.empty(0)

    @cached_property
    def order(self) -> IntArray:
        """The rows of pages by priority: the first wins a tie."""
        if self.ties == "id":
            return np.arange(len(self.changes))
        return np.argsort(random_bits(self.changes.key, self.seed), kind="stable")

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        return self.changes.words[self.order]

    @cached_property
    def contents(self) -> NDArray[np.uint16]:
        contents = self.changes.contents
        return contents[self.order] if contents.size else contents

    @cached_property
    def quotas(self) -> IntArray:
        """The number of fetches by score, and by age."""
        explored = int(self.explore * self.fetches)
        return np.array([self.fetches - explored, explored])

    @cached_property
    def gain(self) -> FloatArray:
        """Gain of a hit by rank (Santos et al. 2015): 1, then 1 / ln(rank + 1)."""
        gain = np.ones(self.fetches if self.ndcg else 0)
        gain[1:] = 1.0 / np.log(np.arange(3, len(gain) + 2))
        return gain

    @cached_property
    def warm(self) -> tuple[NDArray[Any], ...]:
        """What is known of each page after warm-up: n, X, last visit, outcomes and ranks."""
        x, ranks = np.zeros((2, len(self.words)), np.int64)
        past = np.zeros(len(self.words), np.uint64)
        for cycle in range(1, self.warm_up + 1):
            bit = self._changed_in(cycle)
            x += bit
            ranks += bit * cycle
            past = (past << np.uint64(1)) | bit
        visits = np.full(len(x), self.warm_up)
        return visits, x, visits.copy(), past, ranks

    def _changed_in(self, cycle: int) -> BoolArray:
        at, bit = divmod(cycle - 1, 64)
        changed: BoolArray = (self.words[:, at] >> np.uint64(bit)) % 2 == 1
        return changed

    @cached_property
    def turning(self) -> NDArray[np.int64]:
        """The rise of stale copies in each cycle after warm-up if no page is visited again."""
        turning = np.zeros(self.changes.cycles + 1, np.int64)
        fresh = np.ones(len(self.words), np.bool_)
        for cycle in range(self.warm_up + 1, self.changes.cycles + 1):
            before = fresh
            if self.contents.size:
                fresh = self.contents[:, cycle] == self.contents[:, self.warm_up]
            else:
                fresh = before & ~self._changed_in(cycle)
            turning[cycle] = before.sum() - fresh.sum()
        return turning

    def _begin(self, past: NDArray[np.uint64], ranks: NDArray[np.int64]) -> Begin:
        """The states after warm-up: pages with the same past, in the order of priority."""
        x = self.warm[1]
        pool = np.lexsort((ranks, past, x))
        new = np.zeros(len(pool), np.bool_)
        for column in (x, past, ranks):
            new[1:] |= np.diff(column[pool]) != 0
        start = np.concatenate([[0], np.flatnonzero(new)])
        first = pool[start]
        visits = np.full(len(start), self.warm_up)
        stop = np.append(start[1:], len(pool))
        table = np.stack([start, stop, visits, x[first], visits, ranks[first]])
        return pool.astype(np.int32), table, past[first], self.turning

    @cached_property
    def begin_by_counts(self) -> Begin:
        """The first states if only counts of outcomes matter."""
        nothing = np.zeros(len(self.words), np.int64)
        return self._begin(nothing.astype(np.uint64), nothing - 1)

    @cached_property
    def begin_by_outcomes(self) -> Begin:
        """The first states if single outcomes matter."""
        return self._begin(self.warm[3], self.warm[4])
