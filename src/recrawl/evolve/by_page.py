"""What would a score function find, scoring every page? For facts that no two pages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.evolve.by_state import share
from recrawl.evolve.changes import changed, visited
from recrawl.evolve.evaluate import scores
from recrawl.evolve.states import fill, kinds
from recrawl.evolve.terminals import TERMINALS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.evolve.expression import Expression
    from recrawl.evolve.simulator import Simulator
    from recrawl.model import FloatArray, IntArray


def simulate(
    world: Simulator, formula: Expression, *, keep: bool
) -> tuple[FloatArray, NDArray[np.int32], FloatArray]:
    """Changes found, copies left stale and NDCG of each cycle; the pages fetched; links found."""
    cycles, warm_up = world.changes.cycles, world.warm_up
    n, x, last, past, ranks = (column.copy() for column in world.warm)
    terminals, asked = _columns(world, formula), kinds(formula.terminals)
    turning, stale = world.turning.copy(), 0
    found = np.zeros((3, cycles - warm_up))
    picks = np.empty((cycles - warm_up if keep else 0, world.fetches), np.int32)
    links = np.zeros(cycles - warm_up if world.links else 0)
    for row, now in enumerate(range(warm_up + 1, cycles + 1)):
        stale += turning[now]
        fill(asked, n, x, last, past, ranks, now, world.changes.cycle_days, terminals)
        chosen = _chosen(scores(formula, terminals), now - last, world)
        hit = look(world.words, world.contents, chosen, last, now)
        _note(world.words, world.contents, chosen[hit], last, now, turning)
        if world.ndcg:
            found[2, row] = _ndcg(hit, world.gain, stale)
        if world.links:
            links[row] = world.links(world.order[chosen], last[chosen], now).sum()
        stale -= int(hit.sum())
        found[0, row], found[1, row] = hit.sum(), stale
        if keep:
            picks[row] = np.sort(chosen)
        n[chosen] += 1
        x[chosen] += hit
        last[chosen] = now
        past[chosen] = (past[chosen] << np.uint64(1)) | hit.astype(np.uint64)
        ranks[chosen] += hit * n[chosen]
    return found, picks, links


def _columns(world: Simulator, formula: Expression) -> FloatArray:
    """A row a terminal; filled are those that are facts of single pages."""
    rows = np.zeros((len(formula.terminals), len(world.changes)))
    for row, name in zip(rows, formula.terminals, strict=True):
        if name not in TERMINALS:
            row[:] = world.column(name)[world.order]
    return rows


def _chosen(worth: FloatArray, age: IntArray, world: Simulator) -> IntArray:
    """The best by score, then the oldest of the rest; each best first where the order matters."""
    best = _best(worth, int(world.quotas[0]), ordered=world.ndcg)
    if not world.quotas[1]:
        return best
    worth = age.astype(np.float64)
    worth[best] = -1.0
    return np.concatenate([best, _best(worth, int(world.quotas[1]), ordered=world.ndcg)])


def _best(worth: FloatArray, width: int, *, ordered: bool) -> IntArray:
    """The `width` best; of equals the first."""
    if width == 0:
        return np.empty(0, np.int64)
    rows = np.arange(len(worth))
    if width < len(worth):
        edge = np.partition(worth, len(worth) - width)[len(worth) - width]
        sure, equal = np.flatnonzero(worth > edge), np.flatnonzero(worth == edge)
        rows = np.concatenate([sure, equal[: width - len(sure)]])
    return rows[np.lexsort((rows, -worth[rows]))] if ordered else rows


@njit(cache=True)
def look(words, contents, chosen, last, now):  # type: ignore[no-untyped-def]
    """Which of the pages chosen had changed?"""
    hit = np.zeros(len(chosen), np.bool_)
    for i in range(len(chosen)):
        hit[i] = changed(words, contents, chosen[i], last[chosen[i]], now)
    return hit


@njit(cache=True)
def _note(words, contents, hits, last, now, turning):  # type: ignore[no-untyped-def]
    for i in range(len(hits)):
        visited(words, contents, hits[i], last[hits[i]], now, turning)


@njit(cache=True)
def _ndcg(hit, gain, possible):  # type: ignore[no-untyped-def]
    total = 0.0
    for rank in range(len(hit)):
        if hit[rank]:
            total += gain[rank]
    return share(total, gain, possible)
