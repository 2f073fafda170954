"""What would a policy have fetched, and what would that have shown? The loop on a trace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recrawl.chance import drawn
from recrawl.cycle import turn
from recrawl.history.arrow import values
from recrawl.history.memory import MemoryHistory
from recrawl.model import DAY, VISITS
from recrawl.planner.plan import fetches
from recrawl.registry import build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from recrawl.lab.trace import Trace
    from recrawl.model import BoolArray, Budget, FloatArray, IntArray, Time
    from recrawl.planner import Plan


@dataclass(frozen=True)
class Cycles:
    """The raw run: one row a fetch. Metrics are made from this and the trace, nothing else."""

    times: FloatArray  #: of every cycle; the first is the copy we began with
    warm_up: int  #: cycles, after the first, that visited every page
    cycle: NDArray[np.int32]  #: of each fetch, in the order of the plan
    page: IntArray
    succeeded: BoolArray
    fetches: int  #: that the budget allows a cycle, past warm-up


def keep(cycles: Cycles, trace: Trace, file: Path) -> None:
    """Write a raw run as Parquet: one row a fetch, in the order of the plans."""
    table = {
        "cycle": cycles.cycle,
        "at": pa.array((cycles.times[cycles.cycle] * 1e6).astype(np.int64)).cast(
            VISITS.field("at").type
        ),
        "url": pa.array(trace.urls, pa.string()).take(pa.array(cycles.page)),
        "succeeded": cycles.succeeded,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(table), file)


class TraceEngine:
    """Answers from a trace.

    A share `failures` of the visits fails; a share `not_modified` of the pages answers 304 where
    it is as it was at the last success.
    """

    def __init__(
        self, trace: Trace, *, failures: float = 0.0, not_modified: float = 0.0, seed: int = 0
    ) -> None:
        self.trace = trace
        self.failures = failures
        self.not_modified = not_modified
        self.seed = seed
        self.now = trace.window[0]
        self._urls = pa.array(trace.urls, pa.string())
        self._key = np.arange(len(trace), dtype=np.uint64)
        self._copy = np.full(len(trace), -1)

    def fetch(self, plan: Plan) -> pa.Table:
        self.now = plan.now
        return self.visits(plan.pages.page_id, plan.now)

    def visits(self, page: IntArray, now: Time) -> pa.Table:
        """What visits to these pages show now."""
        version = self.trace.version_at(now)[page]
        content = self.trace.content[version]
        failed = self._chance(page, now) < self.failures
        same = (self._copy[page] >= 0) & (self.trace.content[self._copy[page]] == content)
        same &= ~failed & (self._chance(page, 0.0) < self.not_modified)
        self._copy[page[~failed]] = version[~failed]
        status = np.where(failed, 503, np.where(same, 304, self.trace.status[version]))
        columns: dict[str, Any] = {f.name: pa.nulls(len(page), f.type) for f in VISITS}
        columns["url"] = self._urls.take(pa.array(page))
        columns["at"] = pa.array(np.full(len(page), int(now * 1e6))).cast(VISITS.field("at").type)
        columns["status"] = pa.array(status.astype(np.int16))
        columns["digest"] = pa.array(content, mask=failed | same)
        columns["digest_of"] = pa.array(["trace"] * len(page), pa.string())
        return pa.table(columns, schema=VISITS)

    def _chance(self, page: IntArray, now: Time) -> FloatArray:
        return drawn(self._key[page], self.seed, now).astype(np.float64) * 2.0**-64


def replay(
    trace: Trace,
    policy: str,
    budget: Budget,
    *,
    every: float = DAY,
    warm_up: int = 2,
    parts: int = 1,
    ties: str = "hash",
    seed: int = 0,
    failures: float = 0.0,
    not_modified: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> Cycles:
    """Run a policy over the window of a trace; all its pages must be there throughout.

    A cycle's budget may be spent in `parts`, a second apart, the pages scored anew for each.
    """
    begin, end = trace.window
    cycles = np.arange(int((end - begin) / every + 1e-9) + 1, dtype=np.float64)
    times: FloatArray = begin + every * cycles
    engine = TraceEngine(trace, failures=failures, not_modified=not_modified, seed=seed)
    history = MemoryHistory(trace.urls, build("detector", "digest"), seen=begin)
    scorer = build("policy", policy)
    allowed = fetches(budget, len(trace))
    portions = [
        replace(budget, fetches=len(p), share=None) for p in np.array_split(range(allowed), parts)
    ]
    everything = np.arange(len(trace))
    raw: list[tuple[int, IntArray, pa.Table]] = []
    for number, now in enumerate(times):
        if number <= warm_up:
            visits = engine.visits(everything, now)
            history.append(visits)
            raw.append((number, everything, visits))
        else:
            for i, portion in enumerate(portions):
                done = turn(history, scorer, engine, portion, now=now + i, ties=ties, seed=seed)
                raw.append((number, done.plan.pages.page_id.astype(np.int64), done.visits))
        if progress is not None:
            progress(number + 1, len(times))
    return Cycles(
        times=times,
        warm_up=warm_up,
        cycle=np.concatenate([np.full(len(page), number, np.int32) for number, page, _ in raw]),
        page=np.concatenate([page for _, page, _ in raw]),
        succeeded=np.concatenate([values(visits["status"]) < 400 for _, _, visits in raw]),
        fetches=allowed,
    )
