"""Learners of new links: as many pages as Dang et al. (2021) learn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Figure, apart, seconds
from recrawl.lab.learners import learner
from recrawl.papers.dang.tuning import bounded

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS, WIDE = 288_000, 40
GOALS = {"extra-trees": "< 360 s, < 6 GiB", "lightgbm": "< 30 s"}


def taught(name: str, task: str) -> float:
    """Seconds to learn counts of which three in four are 0."""
    random = np.random.default_rng(0)
    x = random.lognormal(size=(ROWS, WIDE))
    y = random.poisson(0.15 * (x[:, 0] + x[:, 1])).astype(np.float64)
    given = bounded(ROWS, {"min_samples_leaf": 2}) if name == "extra-trees" else {}
    return seconds(lambda: learner(name, task, **given).fit(x, y), rounds=1)


def figures() -> Iterator[Figure]:
    for name, task in {"extra-trees": "number", "lightgbm": "count"}.items():
        took, memory = apart(taught, name, task)
        what = f"{name}, {ROWS:,} rows of {WIDE} features"
        yield Figure(what, f"{took:.0f} s, {memory:.2f} GiB", GOALS[name])
