"""Cycles on the live web: each discovers, plans, fetches, records and waits for the next."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.cycle import run_cycle
from recrawl.model import Budget
from recrawl.public import public

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from recrawl.crawl.clock import Clock
    from recrawl.crawl.discover import Discovery
    from recrawl.crawl.pace import Pace
    from recrawl.crawl.sitemaps import SitemapReader
    from recrawl.fetch import LiveEngine
    from recrawl.history import Store
    from recrawl.model import Time
    from recrawl.planner import Rule
    from recrawl.protocols import Planned, Policy

_log = logging.getLogger(__name__)

MAX_LATE_PART = 0.1  #: of a cycle, by which the next may start late; else it is left out


def next_start(start: Time, every: float, *, now: Time) -> Time:
    """When the cycle after one that began at `start` begins: at the next multiple of `every`.

    If it would be too late, it is left out: the one after it would follow at once.

    >>> next_start(10.0, 100.0, now=105.0), next_start(10.0, 100.0, now=130.0)
    (100.0, 200.0)
    """
    following = (start // every + 1) * every
    late = now - following
    if late > MAX_LATE_PART * every:
        following += math.ceil(late / every) * every
    return following


@public
@dataclass(frozen=True)
class CycleResult:
    """What one cycle did."""

    cycle: int
    at: Time  #: when it started
    planned: int
    fetched: int  #: requests for pages, whatever the response
    changed: int
    not_modified: int
    redirected: int
    failed: int
    skipped: int  #: planned but not requested
    skipped_because: dict[str, int]  #: how many for which reason, the most frequent first
    new_links: int
    new_pages: int
    pages: int  #: known after the cycle

    def show_skipped(self) -> str:
        """How many pages were skipped, and why: "3: 2 robots.txt forbids it, 1 …"."""
        reasons = ", ".join(f"{n:,} {why}" for why, n in self.skipped_because.items())
        return f"{self.skipped:,}: {reasons}" if reasons else f"{self.skipped:,}"


@public
@dataclass
class LiveCrawl:
    """A running crawl. `start_crawl` makes one; `run` carries out its cycles."""

    store: Store
    engine: LiveEngine
    policy: Policy
    pace: Pace
    discovery: Discovery
    clock: Clock
    every: float  #: seconds from the start of one cycle to that of the next
    end: Time = math.inf  #: no cycle starts after it
    sitemaps: SitemapReader | None = None  #: None: sitemaps are not read
    discover: float = 0.2  #: share of the budget for pages never visited
    host_share: float = 0.8  #: most of a cycle's fetches for one host while others have pages
    rules: Sequence[Rule] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        self._stopped = False
        self._new_pages = 0  # in this cycle

    def fetch(self, plan: Planned) -> Iterator[pa.Table]:
        """As an engine: the visits of the live engine, limited to the scope."""
        visits = self.engine.fetch(plan, meanwhile=self._store_sitemaps)
        return map(self.discovery.filter_visits, visits)

    def stop(self) -> None:
        """End when the requests in flight have ended. Safe in a signal handler: takes no lock."""
        self._stopped = True
        self.engine.stop()

    def run(self, cycles: int | None = None) -> Iterator[CycleResult]:
        """Carry out cycles until `end`, or at most this many.

        The first starts now, the others at multiples of `every`. A cycle that takes too long does
        not shorten the next ones.
        """
        number = 0
        while not self._stopped and self.clock.now() < self.end and number != cycles:
            number += 1
            start = self.clock.now()
            yield self._cycle(number, start)
            if number != cycles:
                following = next_start(start, self.every, now=self.clock.now())
                self.clock.wait(min(following, self.end), lambda: self._stopped)

    def _store_sitemaps(self) -> None:
        """Store what sitemaps said meanwhile."""
        if self.sitemaps is not None:
            self._new_pages += self.sitemaps.store_read(now=self.clock.now())

    def _cycle(self, number: int, now: Time) -> CycleResult:
        self._new_pages = 0
        if self.sitemaps is not None:
            self.sitemaps.begin(now=now)
        with self.store.together():
            self._new_pages += self.discovery.add_linked(now=now)
            allowed = self.pace.allowed(self.store, now=now, until=now + self.every)
            delays = self._host_delays()
        budget = Budget(
            fetches=allowed,
            discover=self.discover,
            every=self.clock.real_seconds(self.every),  # as delays are in real seconds
            host_share=self.host_share,
            host_delay=self.engine.delay,
            host_delays=delays,
        )
        plan = run_cycle(
            self.store, self.policy, self, budget, now=now, rules=self.rules, seed=self.seed
        )
        if self.sitemaps is not None and not self._stopped:
            self._new_pages += self.sitemaps.finish(clock=self.clock.now, until=now + self.every)
        counts = _visit_counts(self.store, now)
        result = CycleResult(
            cycle=number,
            at=now,
            planned=len(plan),
            skipped=len(plan) - counts["fetched"],
            skipped_because=dict(self.engine.skip_reasons.most_common()),
            new_pages=self._new_pages,
            **counts,
        )
        if result.skipped:
            _log.info("Cycle %d skipped %s.", number, result.show_skipped())
        return result

    def _host_delays(self) -> dict[int, float]:
        """By host number, the delay in seconds that its robots.txt asks for."""
        delays = self.engine.delays()
        hosts = self.store.query(_HOSTS, list(delays)).to_pylist() if delays else []
        return {row["host_id"]: delays[row["host"]] for row in hosts}


def _visit_counts(store: Store, since: Time) -> dict[str, int]:
    """What the visits since a time showed, and how many pages are known."""
    with store.together():
        [row] = store.query(_VISIT_COUNTS, int(since * 1e6)).to_pylist()
        pages = store.summary().pages
    return {name: int(value or 0) for name, value in row.items()} | {"pages": pages}


_HOSTS = "SELECT host_id, host FROM hosts WHERE host IN (SELECT unnest(?::VARCHAR[]))"
_VISIT_COUNTS = """
SELECT count(*) AS fetched, count(*) FILTER (changed) AS changed,
       count(*) FILTER (status = 304) AS not_modified,
       count(*) FILTER (status BETWEEN 300 AND 399 AND status <> 304) AS redirected,
       count(*) FILTER (NOT (status BETWEEN 200 AND 399)) AS failed,
       sum(new_internal + new_external) AS new_links
FROM visits WHERE "at" >= make_timestamp(?) AND skipped IS NOT TRUE
"""
