"""What would a policy have fetched, and what would that have shown? The loop on a trace."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recrawl import units
from recrawl.cycle import turn
from recrawl.errors import BadInput
from recrawl.files import whole_file
from recrawl.history.memory import MemoryHistory
from recrawl.model import DAY, VISITS
from recrawl.planner.plan import fetches
from recrawl.planner.policy import find_policy
from recrawl.random import uniform
from recrawl.registry import make

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from recrawl.lab.trace import Trace
    from recrawl.model import BoolArray, Budget, FloatArray, IntArray, Time
    from recrawl.protocols import Planned, Policy


@dataclass(frozen=True)
class FetchLog:
    """The raw run: one row a fetch. Metrics are made from this and the trace, nothing else."""

    times: FloatArray  #: of every cycle; the first makes the copy we begin with
    warm_up: int  #: cycles, after the first, that do not count
    cycle: NDArray[np.int32]  #: of each fetch, in the order of the plan
    page: IntArray
    at: FloatArray  #: when it was fetched
    succeeded: BoolArray
    p_change: FloatArray  #: the plan's probability that it shows a change; NaN in warm-up
    fetches: int  #: that the budget allows a cycle, past warm-up
    moments: tuple[FloatArray, IntArray]  #: when a fetch could be made, and in which cycle

    def spent(self) -> int:
        """How many fetches were made past warm-up."""
        return int((self.cycle > self.warm_up).sum())

    def versions(self, trace: Trace) -> tuple[IntArray, IntArray]:
        """Of each fetch the version of our copy before it and after it; -1 is none."""
        came = np.flatnonzero(self.succeeded)
        order = came[np.argsort(self.page[came], kind="stable")]
        before = np.full(len(self.page), -1)
        after = before.copy()
        after[order] = trace.live(self.page[order], self.at[order])
        again = self.page[order[1:]] == self.page[order[:-1]]
        before[order[1:][again]] = after[order[:-1][again]]
        return before, after

    def by_cycle(self) -> Iterator[slice]:
        """Cycle by cycle the rows of its fetches."""
        for begin, end in pairwise(np.searchsorted(self.cycle, np.arange(len(self.times) + 1))):
            yield slice(begin, end)


def keep(log: FetchLog, trace: Trace, file: Path) -> None:
    """Write a raw run as Parquet: one row a fetch, in the order of the plans."""
    table = {
        "cycle": log.cycle,
        "at": pa.array((log.at * 1e6).astype(np.int64)).cast(VISITS.field("at").type),
        "url": pa.array(trace.urls, pa.string()).take(pa.array(log.page)),
        "succeeded": log.succeeded,
        "said": log.p_change,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as opened:
        pq.write_table(pa.table(table), opened)


class TraceEngine:
    """Answers from a trace.

    A share `failures` of the visits fails, but for the first copies; a share `not_modified` of the
    pages answers 304 where it is as it was at the last success. Pages not there at first become
    known when they are born (`discover="oracle"`) or when a page that links to them is fetched
    ("links").
    """

    def __init__(
        self,
        trace: Trace,
        *,
        discover: str = "links",
        failures: float = 0.0,
        not_modified: float = 0.0,
        seed: int = 0,
    ) -> None:
        if discover not in ("links", "oracle"):
            raise BadInput(f"discover must be 'links' or 'oracle'. Got {discover!r}.")
        self.trace = trace
        self.discover = discover
        self.known = trace.live_at(trace.window[0]) >= 0
        self.failures = failures
        self.not_modified = not_modified
        self.seed = seed
        self._urls = pa.array(trace.urls, pa.string())
        self._key = np.arange(len(trace), dtype=np.uint64)
        self._copy = np.full(len(trace), -1)
        self.succeeded: list[BoolArray] = []  #: of each call of `visits`, which pages gave a copy

    def fetch(self, plan: Planned) -> list[pa.Table]:
        return [self.visits(plan.pages.page_id, plan.now)]

    def visits(self, page: IntArray, now: Time) -> pa.Table:
        """What visits to these pages show now; then, without a time, pages that became known."""
        version = self.trace.live_at(now)[page]
        content = self.trace.content[version]
        lost = (self._chance(page, now) < self.failures) & (now > self.trace.window[0])
        failed = lost | (version < 0)
        same = (self._copy[page] >= 0) & (self.trace.content[self._copy[page]] == content)
        same &= ~failed & (self._chance(page, 0.0) < self.not_modified)
        self._copy[page[~failed]] = version[~failed]
        self.succeeded.append(~failed)
        status = np.where(failed, np.where(lost, 503, 410), np.where(same, 304, 200))
        columns: dict[str, Any] = {f.name: pa.nulls(len(page), f.type) for f in VISITS}
        columns["url"] = self._urls.take(pa.array(page))
        columns["at"] = pa.array(np.full(len(page), int(now * 1e6))).cast(VISITS.field("at").type)
        columns["status"] = pa.array(status.astype(np.int16))
        columns["digest"] = pa.array(content, mask=failed | same)
        columns["digest_of"] = pa.array(["trace"] * len(page), pa.string())
        visits = pa.table(columns, schema=VISITS)
        new = self._discovered(version[~failed], now)
        return pa.concat_tables([visits, _seen(self._urls.take(pa.array(new)))])

    def _discovered(self, versions: IntArray, now: Time) -> IntArray:
        """The pages that these visits, or their birth, make known."""
        if self.known.all():
            return np.empty(0, np.int64)
        there = self.trace.version_at(now) >= 0
        if self.discover == "links":
            linked = np.zeros(len(there), np.bool_)
            linked[self.trace.links.pages_of(versions)] = True
            there &= linked
        new = np.flatnonzero(there & ~self.known)
        self.known[new] = True
        return new

    def _chance(self, page: IntArray, now: Time) -> FloatArray:
        return uniform(self._key[page], self.seed, now)


def _seen(urls: pa.Array) -> pa.Table:
    """Rows that say of pages only that they exist."""
    columns = {f.name: pa.nulls(len(urls), f.type) for f in VISITS} | {"url": urls}
    return pa.table(columns, schema=VISITS)


def replay(
    trace: Trace,
    policy: str | Policy,
    budget: Budget,
    *,
    every: float = DAY,
    warm_up: int = 2,
    parts: int = 1,
    ties: str = "hash",
    seed: int = 0,
    discover: str = "links",
    failures: float = 0.0,
    not_modified: float = 0.0,
) -> FetchLog:
    """Run a policy over the window of a trace, beginning with a copy of every page there.

    A cycle's budget may be spent in `parts`, a second apart, the pages scored anew for each.
    """
    times = cycle_times(trace.window, every, parts)
    _check_warm_up(warm_up, times, every)
    engine = TraceEngine(
        trace, discover=discover, failures=failures, not_modified=not_modified, seed=seed
    )
    history = MemoryHistory(
        trace.urls,
        make("detector", "digest"),
        seen=times[0],
        known=engine.known,
        copies=trace,
    )
    judge = find_policy(deepcopy(policy), seed=seed)  # what a run learns does not reach the next
    allowed = fetches(budget, len(trace))
    portions = _portions(replace(budget, fetches=allowed, share=None), parts)
    raw: list[tuple[int, int, IntArray, FloatArray]] = []
    for number, now in enumerate(times):
        if number <= warm_up:
            page = np.flatnonzero(engine.known)
            history.append(engine.visits(page, now), now=now)
            raw.append((number, 0, page, np.full(len(page), np.nan)))
        else:
            for i, portion in enumerate(portions):
                done = turn(history, judge, engine, portion, now=now + i, ties=ties, seed=seed)
                raw.append((number, i, done.pages.page_id.astype(np.int64), done.p_change))
    numbers, part, pages, p_change = zip(*raw, strict=True)
    sizes = [len(page) for page in pages]
    cycle = np.repeat(np.array(numbers, np.int32), sizes)
    second = np.arange(parts, dtype=np.float64)
    return FetchLog(
        times=times,
        warm_up=warm_up,
        cycle=cycle,
        page=np.concatenate(pages),
        at=times[cycle] + np.repeat(second[list(part)], sizes),
        succeeded=np.concatenate(engine.succeeded),
        p_change=np.concatenate(p_change),
        fetches=allowed,
        moments=((times[:, None] + second).ravel(), np.repeat(np.arange(len(times)), parts)),
    )


def cycle_times(window: tuple[Time, Time], every: float, parts: int = 1) -> FloatArray:
    """When the cycles of a window begin."""
    if not parts <= every < np.inf:
        raise BadInput(
            "every, the length of a cycle, must be at least a second for each of its parts. "
            f"Got {every:g} s for {units.count(parts, 'part')}; try 1d."
        )
    begin, end = window
    times: FloatArray = begin + every * np.arange(int((end - begin) / every + 1e-9) + 1.0)
    return times


def _check_warm_up(warm_up: int, times: FloatArray, every: float) -> None:
    if len(times) - 1 <= warm_up:
        raise BadInput(
            f"The window must hold more cycles than the warm-up, {warm_up}. Got {len(times) - 1}, "
            f"of {units.show_days(every / DAY)} each; give a shorter --every or --warm-up, or a "
            "longer --window."
        )


def _portions(budget: Budget, parts: int) -> list[Budget]:
    """A cycle's budget in parts; so is a host's cap, which holds for the whole cycle."""
    fetches = [len(part) for part in np.array_split(range(budget.fetches or 0), parts)]
    if budget.host_cap is None:
        return [replace(budget, fetches=n) for n in fetches]
    caps = [len(part) for part in np.array_split(range(budget.host_cap), parts)]
    return [replace(budget, fetches=n, host_cap=c) for n, c in zip(fetches, caps, strict=True)]
