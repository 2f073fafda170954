"""Rates and policies: 1,000,000 pages with 20 intervals each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Figure, seconds
from recrawl import registry
from recrawl.checks import build_pages
from recrawl.model import DAY, Intervals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.model import Pages

PAGES, INTERVALS = 1_000_000, 20
NOW = 1_700_000_000.0


def many_pages(n: int = PAGES, each: int = INTERVALS) -> Pages:
    """Pages with `each` intervals of about a day and change rates from 0.005 to 5 a day."""
    rng = np.random.default_rng(0)
    rate = np.repeat(10.0 ** rng.uniform(-2.3, 0.7, n), each)
    days = rng.exponential(size=n * each)
    changed = rng.random(n * each) < -np.expm1(-rate * days)
    since = np.cumsum(days.reshape(n, each), axis=1)
    first_visit = NOW - (since[:, -1] + rng.exponential(3.0, n)) * DAY
    at = (first_visit[:, None] + since * DAY).ravel()
    start = np.arange(n + 1) * each
    unknown = np.full((4, n * each), np.nan)
    return build_pages(Intervals(start, days, changed, at, *unknown), first_visit)


def figures() -> Iterator[Figure]:
    pages = many_pages()
    for kind in ("rate", "policy"):
        for name in registry.parts(kind):
            part = registry.make(kind, name)
            task = partial(part.rate, pages) if kind == "rate" else partial(part.score, pages, NOW)
            task()
            yield Figure(f"{kind} {name}", f"{seconds(task):.3f} s")
