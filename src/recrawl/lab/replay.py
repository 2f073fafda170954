"""What would a policy have fetched, and what would that have shown? The loop on a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from recrawl.cycle import turn
from recrawl.history.memory import MemoryHistory
from recrawl.model import DAY, VISITS, Budget
from recrawl.registry import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray, Time
    from recrawl.planner import Plan


@dataclass(frozen=True)
class Cycles:
    """The raw run: one row a fetch. Metrics are made from this and the trace, nothing else."""

    times: FloatArray  #: of every cycle; the first is the copy we began with
    warm_up: int  #: cycles, after the first, that visited every page
    cycle: NDArray[np.int32]  #: of each fetch
    page: IntArray
    fetches: int  #: that the budget allows a cycle, past warm-up


class TraceEngine:
    """Answers from a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._urls = pa.array(trace.urls, pa.string())
        self._content = pa.array(trace.content)
        self.version = trace.version_at(-np.inf)

    def at(self, now: Time) -> None:
        """What the pages are from now on."""
        self.now = now
        self.version = self.trace.version_at(now)

    def fetch(self, plan: Plan) -> pa.Table:
        return self.visits(plan.pages.page_id)

    def visits(self, page: IntArray) -> pa.Table:
        """What visits to these pages show now."""
        version = self.version[page]
        n = len(page)
        columns: dict[str, Any] = {f.name: pa.nulls(n, f.type) for f in VISITS}
        columns["url"] = self._urls.take(pa.array(page))
        columns["at"] = pa.array(np.full(n, int(self.now * 1e6))).cast(VISITS.field("at").type)
        columns["status"] = pa.array(self.trace.status[version])
        columns["digest"] = self._content.take(pa.array(version))
        columns["digest_of"] = pa.array(["trace"] * n, pa.string())
        return pa.table(columns, schema=VISITS)


def replay(
    trace: Trace,
    policy: str,
    budget: Budget,
    *,
    every: float = DAY,
    warm_up: int = 2,
    ties: str = "hash",
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Cycles:
    """Run a policy over the window of a trace; all its pages must be there throughout."""
    begin, end = trace.window
    cycles = np.arange(int((end - begin) / every + 1e-9) + 1, dtype=np.float64)
    times: FloatArray = begin + every * cycles
    engine = TraceEngine(trace)
    history = MemoryHistory(trace.urls, build("detector", "digest"), seen=begin)
    part = build("policy", policy)
    everything = np.arange(len(trace))
    fetched = []
    for number, now in enumerate(times):
        engine.at(now)
        if number <= warm_up:
            history.append(engine.visits(everything))
            fetched.append(everything)
        else:
            done = turn(history, part, engine, budget, now=now, ties=ties, seed=seed)
            fetched.append(done.plan.pages.page_id.astype(np.int64))
        if progress is not None:
            progress(number + 1, len(times))
    counts = [len(rows) for rows in fetched]
    return Cycles(
        times=times,
        warm_up=warm_up,
        cycle=np.repeat(np.arange(len(times), dtype=np.int32), counts),
        page=np.concatenate(fetched),
        fetches=counts[-1],
    )
