"""What would a score function have found? Chooses the way that gives the answer soonest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import BadInput
from recrawl.evolve import by_page, by_state
from recrawl.evolve.evaluate import room
from recrawl.evolve.states import kinds, needs_past
from recrawl.evolve.terminals import TERMINALS
from recrawl.random import drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from recrawl.evolve.by_state import Begin
    from recrawl.evolve.changes import Changes
    from recrawl.evolve.expression import Expression
    from recrawl.model import BoolArray, FloatArray, IntArray

    #: New links that visits to these pages would show: pages, cycles of the last visit, this cycle.
    CountLinks = Callable[[IntArray, IntArray, int], FloatArray]


@dataclass(frozen=True)
class Run:
    """What a score function found, a number a cycle past warm-up."""

    changed: FloatArray  #: fetches that showed a change
    stale: FloatArray  #: copies unlike the live page, after the fetches
    ndcg: FloatArray  #: of the order of the fetches; empty if not asked for
    links: FloatArray  #: new links found; empty if not asked for
    picks: NDArray[np.int32]  #: rows of the pages fetched, a row a cycle; empty if not asked for
    fetches: int
    pages: int

    @property
    def change_ratio(self) -> FloatArray:
        """The share of the fetches that showed a change, cycle by cycle."""
        return self.changed / max(self.fetches, 1)

    @property
    def freshness(self) -> FloatArray:
        """The share of the copies equal to the live page, cycle by cycle."""
        return 1.0 - self.stale / self.pages


@dataclass(frozen=True, eq=False)
class Simulator:
    """Replays a score function on changes, many times a second.

    The first `warm_up` cycles visit every page; each later one visits the `fetches` pages of the
    highest scores. Equal scores go by a priority of the pages drawn with `seed`, the same in all
    cycles; NaN counts as −inf. A share `explore` of the fetches goes to the pages unseen for
    longest instead. `columns` are facts of pages that do not change, by the name of a terminal.
    """

    changes: Changes
    fetches: int
    warm_up: int = 2
    seed: int = 0
    explore: float = 0.0
    ndcg: bool = False
    columns: Mapping[str, FloatArray] | None = None
    links: CountLinks | None = None
    ties: str = "hash"  #: or "id": the first row wins

    def __post_init__(self) -> None:
        size, cycles = len(self.changes), self.changes.cycles
        if size == 0:
            raise BadInput("A simulation needs at least one page. Got none.")
        if not 0 <= self.fetches <= size:
            raise BadInput(f"fetches must be from 0 to the {size} pages. Got {self.fetches}.")
        if not 0 <= self.warm_up < cycles:
            raise BadInput(
                f"warm_up must leave at least one of the {cycles} cycles. Got {self.warm_up}."
            )
        if not 0 <= self.explore <= 1:
            raise BadInput(f"explore must be a share from 0 to 1. Got {self.explore}.")
        for name, column in (self.columns or {}).items():
            if column.shape != (size,) or not np.isfinite(column).all():
                raise BadInput(f"The column {name!r} must be a finite number a page. It is not.")

    def run(self, formula: Expression, *, keep: bool = False) -> Run:
        """Simulate a score function; `keep` the pages it picks."""
        used = formula.used()
        by_state = self.links is None and set(used) <= set(TERMINALS)
        return self.by_state(formula, keep=keep) if by_state else self.by_page(formula, keep=keep)

    def by_state(self, formula: Expression, *, keep: bool = False) -> Run:
        """By states: exact, and the cost does not hang on the number of pages."""
        names = formula.terminals
        found, picks = by_state.simulate(
            formula.code,
            formula.value,
            room(formula),
            kinds(names),
            self.words,
            self.contents,
            self.changes.cycles,
            self.changes.cycle_days,
            self.past_begin if needs_past(names) else self.plain_begin,
            self.quotas,
            self.gain,
            keep,
        )
        return self._run(found, picks, np.empty(0))

    def by_page(self, formula: Expression, *, keep: bool = False) -> Run:
        """By pages: for facts that no two pages share, and to count links."""
        found, picks, links = by_page.simulate(self, formula, keep=keep)
        return self._run(found, picks, links)

    def _run(self, found: FloatArray, picks: NDArray[np.int32], links: FloatArray) -> Run:
        if not self.fetches:
            found[2] = 1.0  # no order is wrong
        return Run(
            changed=found[0],
            stale=found[1],
            ndcg=found[2] if self.ndcg else np.empty(0),
            links=links,
            picks=np.sort(self.order[picks], axis=1).astype(np.int32),
            fetches=self.fetches,
            pages=len(self.changes),
        )

    def column(self, name: str) -> FloatArray:
        """A fact of each page that does not change."""
        if name not in (self.columns or {}):
            given = ", ".join(self.columns or ()) or "none"
            raise BadInput(f"The formula needs the column {name!r} of the pages. Given: {given}.")
        return np.asarray(self.columns[name]) if self.columns else np.empty(0)

    @cached_property
    def order(self) -> IntArray:
        """The row of each page by priority: of equal scores the first goes first."""
        if self.ties == "id":
            return np.arange(len(self.changes))
        return np.argsort(drawn(self.changes.key, self.seed), kind="stable")

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        return self.changes.words[self.order]

    @cached_property
    def contents(self) -> NDArray[np.uint16]:
        kept = self.changes.contents
        return kept[self.order] if kept.size else kept

    @cached_property
    def quotas(self) -> IntArray:
        """Fetches by score, and by age."""
        explored = int(self.explore * self.fetches)
        return np.array([self.fetches - explored, explored])

    @cached_property
    def gain(self) -> FloatArray:
        """Of each rank (Santos et al. 2015): 1, then 1 / ln(rank + 1)."""
        gain = np.ones(self.fetches if self.ndcg else 0)
        gain[1:] = 1.0 / np.log(np.arange(3, len(gain) + 2))
        return gain

    @cached_property
    def warm(self) -> tuple[NDArray[Any], ...]:
        """What is known of each page after warm-up: n, X, last visit, past and ranks."""
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
        """How the number of stale copies moves after warm-up, if nothing is visited any more."""
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
        """The states after warm-up: pages of the same past, in the order of priority."""
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
    def plain_begin(self) -> Begin:
        """Where only counts of outcomes matter."""
        nothing = np.zeros(len(self.words), np.int64)
        return self._begin(nothing.astype(np.uint64), nothing - 1)

    @cached_property
    def past_begin(self) -> Begin:
        """Where single outcomes matter."""
        return self._begin(self.warm[3], self.warm[4])
