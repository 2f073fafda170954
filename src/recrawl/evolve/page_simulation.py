"""Simulates a score function page by page, for terminals that pages do not share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.evolve.change_history import changed, update_turning
from recrawl.evolve.evaluate import scores
from recrawl.evolve.state_simulation import ndcg
from recrawl.evolve.terminals import TERMINALS, fill_terminals, terminal_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.evolve.expression import Expression
    from recrawl.evolve.simulator import Simulator
    from recrawl.model import FloatArray, IntArray


def simulate(
    world: Simulator, formula: Expression, *, keep: bool
) -> tuple[FloatArray, NDArray[np.int32], FloatArray]:
    """Changes found, copies left stale and NDCG by cycle; the pages fetched; new links found."""
    cycles, warm_up = world.changes.cycles, world.warm_up
    n, x, last, past, ranks = (column.copy() for column in world.warm)
    terminals = np.zeros((len(formula.terminals), len(world.changes)))
    codes, columns = terminal_codes(formula.terminals), _page_columns(world, formula)
    turning, stale = world.turning.copy(), 0
    results = np.zeros((3, cycles - warm_up))
    picks = np.empty((cycles - warm_up if keep else 0, world.fetches), np.int32)
    links = np.zeros(cycles - warm_up if world.links else 0)
    for row, now in enumerate(range(warm_up + 1, cycles + 1)):
        stale += turning[now]
        fill_terminals(codes, n, x, last, past, ranks, now, world.changes.cycle_days, terminals)
        for place, column in columns.items():
            terminals[place] = column[np.arange(len(last)), last]
        chosen = _choose(scores(formula, terminals), now - last, world)
        hit = find_changed(world.words, world.contents, chosen, last, now)
        _record_hits(world.words, world.contents, chosen[hit], last, now, turning)
        if world.ndcg:
            results[2, row] = _ndcg(hit, world.gain, stale)
        if world.links:
            links[row] = world.links(world.order[chosen], last[chosen], now).sum()
        stale -= int(hit.sum())
        results[0, row], results[1, row] = hit.sum(), stale
        if keep:
            picks[row] = np.sort(chosen)
        n[chosen] += 1
        x[chosen] += hit
        last[chosen] = now
        past[chosen] = (past[chosen] << np.uint64(1)) | hit.astype(np.uint64)
        ranks[chosen] += hit * n[chosen]
    return results, picks, links


def _page_columns(world: Simulator, formula: Expression) -> dict[int, FloatArray]:
    """The columns of pages that the formula names, by the place of the terminal."""
    return {
        place: world.column(name)[world.order]
        for place, name in enumerate(formula.terminals)
        if name not in TERMINALS
    }


def _choose(score: FloatArray, age: IntArray, world: Simulator) -> IntArray:
    """The best by score, then the oldest of the rest; each best first if NDCG is computed."""
    best = best_rows(score, int(world.quotas[0]), ordered=world.ndcg)
    if not world.quotas[1]:
        return best
    rest = age.astype(np.float64)
    rest[best] = -1.0
    return np.concatenate([best, best_rows(rest, int(world.quotas[1]), ordered=world.ndcg)])


def best_rows(score: FloatArray, width: int, *, ordered: bool) -> IntArray:
    """The rows of the `width` highest scores; among equals the first."""
    if width == 0:
        return np.empty(0, np.int64)
    rows = np.arange(len(score))
    if width < len(score):
        edge = np.partition(score, len(score) - width)[len(score) - width]
        sure, equal = np.flatnonzero(score > edge), np.flatnonzero(score == edge)
        rows = np.concatenate([sure, equal[: width - len(sure)]])
    return rows[np.lexsort((rows, -score[rows]))] if ordered else rows


@njit(cache=True)
def find_changed(words, contents, chosen, last, now):  # type: ignore[no-untyped-def]
    """Whether each of the chosen pages had changed since its last visit."""
    hit = np.zeros(len(chosen), np.bool_)
    for i in range(len(chosen)):
        hit[i] = changed(words, contents, chosen[i], last[chosen[i]], now)
    return hit


@njit(cache=True)
def _record_hits(words, contents, hits, last, now, turning):  # type: ignore[no-untyped-def]
    for i in range(len(hits)):
        update_turning(words, contents, hits[i], last[hits[i]], now, turning)


@njit(cache=True)
def _ndcg(hit, gain, possible):  # type: ignore[no-untyped-def]
    total = 0.0
    for rank in range(len(hit)):
        if hit[rank]:
            total += gain[rank]
    return ndcg(total, gain, possible)
