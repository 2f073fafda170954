"""Optimal visit rates: eighteen million pages, as many as LambdaCrawl's data set has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Figure, apart, seconds
from recrawl import allocate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.model import FloatArray

PAGES, HOSTS, SHARE = 18_000_000, 100_000, 0.05
GOALS = {
    "freshness_rates": "< 30 s, < 4 GiB",
    "age_rates": "",
    "memoryless_rates": "",
    "harmonic_rates": "< 10 s, < 4 GiB",
}


def web(n: int) -> tuple[FloatArray, FloatArray]:
    """Rates from one change in three years to ten a day; a few pages have most of the weight."""
    rng = np.random.default_rng(0)
    return 10.0 ** rng.uniform(-3.0, 1.0, n), rng.pareto(1.2, n) + 1.0


def allocated(name: str, n: int) -> float:
    solve = getattr(allocate, name)
    rate, weight = web(n)
    solve(rate[:1000], SHARE * 1000, weight[:1000])  # compiles
    return seconds(lambda: solve(rate, SHARE * n, weight), rounds=1)


def polite(n: int) -> float:
    rate, weight = web(n)
    host = (np.random.default_rng(1).random(n) ** 3 * HOSTS).astype(np.int32)
    cap = np.full(HOSTS, 5.0)

    def solve(rows: slice) -> FloatArray:
        budget = SHARE * len(rate[rows])
        return allocate.within_host_caps(
            allocate.HARMONIC, rate[rows], budget, host[rows], cap, weight[rows]
        )

    solve(slice(1000))
    return seconds(lambda: solve(slice(None)), rounds=1)


def figures() -> Iterator[Figure]:
    for name, goal in GOALS.items():
        took, memory = apart(allocated, name, PAGES)
        yield Figure(f"{name}, {PAGES:,} pages", f"{took:.1f} s, {memory:.2f} GiB", goal)
    took, memory = apart(polite, PAGES)
    what = f"harmonic, {PAGES:,} pages, {HOSTS:,} hosts at most 5 visits a day"
    yield Figure(what, f"{took:.1f} s, {memory:.2f} GiB")
