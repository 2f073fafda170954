"""Cycles on the live web: discover, plan, fetch, record, wait; and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.cycle import turn
from recrawl.model import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from recrawl.crawl.clock import Clock
    from recrawl.crawl.discover import Discovery
    from recrawl.crawl.pace import Pace
    from recrawl.crawl.sitemaps import Sitemaps
    from recrawl.fetch import LiveEngine
    from recrawl.history import Store
    from recrawl.model import Time
    from recrawl.planner import Rule
    from recrawl.protocols import Planned, Policy


@dataclass(frozen=True)
class Cycled:
    """What a cycle did."""

    cycle: int
    at: Time  #: its beginning
    planned: int
    fetched: int  #: requests for pages, whatever came back
    changed: int
    not_modified: int
    redirected: int
    failed: int
    skipped: int  #: planned but not asked for: forbidden by robots.txt, or not in time
    new_links: int
    new_pages: int
    pages: int  #: known by now


@dataclass
class Crawl:
    """A crawl that has not ended."""

    store: Store
    engine: LiveEngine
    policy: Policy
    pace: Pace
    discovery: Discovery
    clock: Clock
    every: float
    sitemaps: Sitemaps | None = None  #: None: they are left alone
    discover: float = 0.2  #: share of the budget for pages never visited
    rules: Sequence[Rule] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        self._stopped = False

    def fetch(self, plan: Planned) -> Iterator[pa.Table]:
        """As an engine: what the live one brings, within the scope."""
        return map(self.discovery.within, self.engine.fetch(plan))

    def stop(self) -> None:
        """Let what is in flight end, then end. Takes no lock: a signal handler may call it."""
        self._stopped = True
        self.engine.stop()

    def run(self, until: Time, cycles: int | None = None) -> Iterator[Cycled]:
        """Cycle after cycle, until a time or so many; after the first they begin on the dot."""
        number = 0
        while not self._stopped and self.clock.now() < until and number != cycles:
            number += 1
            now = self.clock.now()
            yield self._cycle(number, now)
            if number != cycles:  # one that took too long does not make the next ones hurry
                following = (self.clock.now() // self.every + 1) * self.every
                self.clock.wait(min(following, until), lambda: self._stopped)

    def _cycle(self, number: int, now: Time) -> Cycled:
        new_pages = 0
        if self.sitemaps is not None:
            new_pages += self.sitemaps.read(now=now)
            now = self.clock.now()  # reading them took its time
        with self.store.together():
            new_pages += self.discovery.links(now=now)
            allowed = self.pace.allowed(self.store, now=now, until=now + self.every)
        budget = Budget(fetches=allowed, discover=self.discover, every=self.every)
        plan = turn(
            self.store,
            self.policy,
            self,
            budget,
            now=now,
            rules=self.rules,
            seed=self.seed,
        )
        seen = _seen(self.store, now)
        return Cycled(
            cycle=number,
            at=now,
            planned=len(plan),
            skipped=len(plan) - seen["fetched"],
            new_pages=new_pages,
            **seen,
        )


def _seen(store: Store, since: Time) -> dict[str, int]:
    """What the visits since then showed."""
    with store.together():
        [row] = store.query(_SEEN, int(since * 1e6)).to_pylist()
        pages = store.summary().pages
    return {name: int(value or 0) for name, value in row.items()} | {"pages": pages}


# Pages that were not asked for are failed visits that took no time.
_SEEN = """
SELECT count(*) AS fetched, count(*) FILTER (changed) AS changed,
       count(*) FILTER (status = 304) AS not_modified,
       count(*) FILTER (status BETWEEN 300 AND 399 AND status <> 304) AS redirected,
       count(*) FILTER (NOT (status BETWEEN 200 AND 399)) AS failed,
       sum(new_internal + new_external) AS new_links
FROM visits WHERE "at" >= make_timestamp(?) AND seconds IS NOT NULL
"""
