"""Evolution: simulations of score functions."""

from __future__ import annotations

import ctypes
from pathlib import Path
from random import Random
from statistics import mean, median
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from benchmarks.harness import Figure, apart
from recrawl.evolve.change_history import changed, from_bits
from recrawl.evolve.evaluate import scores
from recrawl.evolve.simplify import simplify
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.terminals import fill_terminals, terminal_codes
from recrawl.evolve.text import parse
from recrawl.evolve.trees import Symbols, ramped_trees
from recrawl.registry import make

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.evolve.expression import Expression

PAGES, SHARE, TREES, SAMPLED = 166_819, 0.05, 300, 15
BASIC = ("n", "X", "t")


def timed(task: object, *arguments: object) -> float:
    """Milliseconds of processor time, so that other work on the machine does not count."""
    begin = process_time()
    task(*arguments)  # type: ignore[operator]
    return (process_time() - begin) * 1e3


def resident(what: str) -> float:
    """Memory of this process in MB, now (VmRSS) or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith(what)]
    return int(kilobytes) / 1024


@njit(cache=True)
def _visit(order, k, words, contents, n, x, last, now):  # type: ignore[no-untyped-def]
    for page in order[:k]:
        n[page] += 1
        x[page] += changed(words, contents, page, last[page], now)
        last[page] = now


def compiled(world: Simulator, formula: Expression) -> None:
    """Score every page by the same compiled evaluator and sort them all, as GP4C's code does."""
    n, x, last, past, ranks = (column.copy() for column in world.warm)
    rows = np.empty((len(formula.terminals), len(n)))
    for now in range(world.warm_up + 1, world.changes.cycles + 1):
        fill_terminals(terminal_codes(formula.terminals), n, x, last, past, ranks, now, 1.0, rows)
        order = np.argsort(-scores(formula, rows), kind="stable")
        _visit(order, world.fetches, world.words, world.contents, n, x, last, now)


def measured() -> tuple[list[float], list[float], list[float], list[float], float]:
    """Milliseconds of every tree by states, and of some trees by each way; memory in MB."""
    product = parse("t * X", BASIC)
    bits = make("world", "brdc").make(pages=PAGES, seed=0).bits() == 1
    small = Simulator(from_bits(bits[:100]), 5)
    for way in (small.run_states, small.run_pages, lambda f: compiled(small, f)):
        way(product)  # compile first
    world = Simulator(from_bits(bits), int(SHARE * PAGES))
    trees = ramped_trees(Random(0), Symbols(BASIC), TREES, 10)
    _ = world.words  # the changes by priority, as much as the changes themselves
    del bits
    ctypes.CDLL(None).malloc_trim(0)  # what is free but not given back would hide what is used
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is that of making the world
    every = [timed(lambda t=tree: world.run_states(simplify(t))) for tree in trees]
    memory = resident("VmHWM") - before
    some = [simplify(tree) for tree in trees[:: TREES // SAMPLED]]
    by_state = [timed(world.run_states, tree) for tree in some]
    by_page = [timed(world.run_pages, tree) for tree in some]
    return every, by_state, by_page, [timed(compiled, world, tree) for tree in some], memory


def figures() -> Iterator[Figure]:
    (every, by_state, by_page, sorted_, memory), _ = apart(measured)
    what = (
        f"simulate a random tree on {PAGES:,} pages × 57 cycles at 5 %, median and mean of {TREES}"
    )
    yield Figure(what, f"{median(every):.1f} ms, {mean(every):.1f} ms", "<= 15 ms, <= 20 ms")
    yield Figure("memory beyond the changes", f"{memory:.0f} MB", "< 200 MB")
    ratio = f"1 : {mean(by_page) / mean(by_state):.0f} : {mean(sorted_) / mean(by_state):.0f}"
    what = (
        f"by states : by pages (our other way) : every page scored and sorted, of {SAMPLED} trees"
    )
    yield Figure(what, ratio)
