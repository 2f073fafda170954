"""Runs a policy on a trace: what would it have fetched, and what would it have seen?"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recrawl import units
from recrawl.cycle import run_cycle
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

    from recrawl.lab.stamps import LastModified
    from recrawl.lab.trace import Trace
    from recrawl.model import BoolArray, Budget, FloatArray, IntArray, Time
    from recrawl.protocols import Planned, Policy


@dataclass(frozen=True)
class FetchLog:
    """The fetches of a run, in columns. Metrics need this and the trace, nothing else."""

    times: FloatArray  #: when each cycle begins; the first one makes the first copies
    warm_up: int  #: cycles after the first that metrics leave out
    cycle: NDArray[np.int32]  #: of each fetch; fetches are in the order of the plans
    page: IntArray
    at: FloatArray  #: time of the fetch
    succeeded: BoolArray
    p_change: FloatArray  #: the plan's probability of a change; NaN in warm-up
    fetches: int  #: the budget of a cycle past warm-up
    moments: tuple[FloatArray, IntArray]  #: every possible time of a fetch, and its cycle

    def spent(self) -> int:
        """The number of fetches past warm-up."""
        return int((self.cycle > self.warm_up).sum())

    def versions(self, trace: Trace) -> tuple[IntArray, IntArray]:
        """The version of our copy before each fetch, and the version fetched; -1 for none."""
        done = np.flatnonzero(self.succeeded)
        order = done[np.argsort(self.page[done], kind="stable")]  # by page, then by time
        before = np.full(len(self.page), -1)
        after = before.copy()
        after[order] = trace.live(self.page[order], self.at[order])
        has_copy = self.page[order[1:]] == self.page[order[:-1]]
        before[order[1:][has_copy]] = after[order[:-1][has_copy]]
        return before, after

    def by_cycle(self) -> Iterator[slice]:
        """The rows of each cycle's fetches, cycle by cycle."""
        for begin, end in pairwise(np.searchsorted(self.cycle, np.arange(len(self.times) + 1))):
            yield slice(begin, end)


def write_log(log: FetchLog, trace: Trace, file: Path) -> None:
    """Write a run as Parquet: a row for each fetch, in the order of the plans."""
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
    """Answers fetches from a trace.

    A share `failures` of the visits fails; the first copies never do. A share `not_modified` of the
    pages answers 304 where the content is that of the last successful visit. `stamps` says who
    sends Last-Modified. A page that appears
    later becomes known at once (`discover="oracle"`), or when a page that links to it is fetched
    ("links").
    """

    def __init__(
        self,
        trace: Trace,
        *,
        discover: str = "links",
        failures: float = 0.0,
        not_modified: float = 0.0,
        stamps: LastModified | None = None,
        seed: int = 0,
    ) -> None:
        if discover not in ("links", "oracle"):
            raise BadInput(f"discover must be 'links' or 'oracle'. Got {discover!r}.")
        self.trace = trace
        self.discover = discover
        self.known = trace.live_at(trace.window[0]) >= 0
        self.failures = failures
        self.not_modified = not_modified
        self.stamps = stamps
        self.seed = seed
        self._urls = pa.array(trace.urls, pa.string())
        self._key = np.arange(len(trace), dtype=np.uint64)
        self._copy = np.full(len(trace), -1)
        self.succeeded: list[BoolArray] = []  #: for each call of `visits`: which pages were fetched

    def fetch(self, plan: Planned) -> list[pa.Table]:
        return [self.visits(plan.pages.page_id, plan.now)]

    def visits(self, page: IntArray, now: Time) -> pa.Table:
        """The visits to these pages, then a row without a time for each page that became known."""
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
        if self.stamps is not None:
            modified = self.stamps.sent(self.trace, page, version, now, self.seed)
            none = failed | np.isnan(modified)
            micros = pa.array((np.nan_to_num(modified) * 1e6).astype(np.int64), mask=none)
            columns["last_modified"] = micros.cast(VISITS.field("last_modified").type)
        if self.trace.body_bytes is not None:
            size = self.trace.body_bytes[version]
            unknown = failed | same | np.isnan(size)
            columns["bytes"] = pa.array(np.nan_to_num(size).astype(np.int64), mask=unknown)
        columns["digest_of"] = pa.array(["trace"] * len(page), pa.string())
        visits = pa.table(columns, schema=VISITS)
        new = self._discovered(version[~failed], now)
        return pa.concat_tables([visits, _known(self._urls.take(pa.array(new)))])

    def _discovered(self, versions: IntArray, now: Time) -> IntArray:
        """The pages that become known through these versions, or because they now exist."""
        if self.known.all():
            return np.empty(0, np.int64)
        exists = self.trace.version_at(now) >= 0
        if self.discover == "links":
            linked = np.zeros(len(exists), np.bool_)
            linked[self.trace.links.pages_of(versions)] = True
            exists &= linked
        new = np.flatnonzero(exists & ~self.known)
        self.known[new] = True
        return new

    def _chance(self, page: IntArray, now: Time) -> FloatArray:
        return uniform(self._key[page], self.seed, now)


def _known(urls: pa.Array) -> pa.Table:
    """Rows that only say that pages exist."""
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
    stamps: LastModified | None = None,
    signals: bool = True,
) -> FetchLog:
    """Run a policy over the window of a trace.

    The first cycle copies every page that exists; so do the `warm_up` cycles after it. A cycle's
    budget may be spent in `parts`, one second apart; pages are scored again before each part. Each
    cycle begins by reading what the trace's sitemaps and feeds claim, unless `signals` is false.
    """
    times = cycle_times(trace.window, every, parts)
    _check_warm_up(warm_up, times, every)
    engine = TraceEngine(
        trace,
        discover=discover,
        failures=failures,
        not_modified=not_modified,
        stamps=stamps,
        seed=seed,
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
        if signals and trace.claims is not None:
            since = times[number - 1] if number else -np.inf
            history.claim(trace.claims.read(trace.urls, since, now))
        if number <= warm_up:
            page = np.flatnonzero(engine.known)
            history.append(engine.visits(page, now), now=now)
            raw.append((number, 0, page, np.full(len(page), np.nan)))
        else:
            for i, portion in enumerate(portions):
                done = run_cycle(history, judge, engine, portion, now=now + i, ties=ties, seed=seed)
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
    """The times at which the cycles of a window begin."""
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
    """A cycle's budget in parts; a host's cap, which is for the whole cycle, is divided too."""
    fetches = [len(part) for part in np.array_split(range(budget.fetches or 0), parts)]
    if budget.host_cap is None:
        return [replace(budget, fetches=n) for n in fetches]
    caps = [len(part) for part in np.array_split(range(budget.host_cap), parts)]
    return [replace(budget, fetches=n, host_cap=c) for n, c in zip(fetches, caps, strict=True)]
