"""The lab: replays."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import Figure, apart, seconds
from recrawl.lab.metrics import daily
from recrawl.lab.replay import replay
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write
from recrawl.model import Budget
from recrawl.registry import make

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES, DAYS = (
    13_902,
    263,
)  # as many as a documentation site that is among the traces of docs/results.md


def replayed(folder: str) -> tuple[float, float]:
    trace = read_trace(folder)
    budget = Budget(share=0.02)
    took = seconds(lambda: replay(trace, "poisson", budget), rounds=2)
    cycles = replay(trace, "poisson", budget)
    return took, seconds(lambda: daily(trace, cycles), rounds=2)


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "trace"
        write(make("world", "releases").make(pages=PAGES, days=DAYS, seed=0), folder)
        took = seconds(lambda: read_trace(folder), rounds=1)
        yield Figure(f"read a trace of {PAGES:,} pages × {DAYS} days", f"{took:.1f} s")
        (took, metrics), memory = apart(replayed, str(folder))
        what = "replay it with poisson at 2 %, then its metrics"
        yield Figure(what, f"{took:.1f} s, {metrics:.1f} s, {memory:.2f} GiB", "< 5 s, < 1 GiB")
