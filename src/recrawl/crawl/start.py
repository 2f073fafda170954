"""A crawl from plain arguments: a store, seeds, a budget and a few options."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recrawl import units
from recrawl.crawl.clock import CrawlClock, simulated_clock
from recrawl.crawl.discover import Discovery, read_seeds
from recrawl.crawl.loop import LiveCrawl
from recrawl.crawl.pace import Pace
from recrawl.crawl.scope import Scope
from recrawl.crawl.sitemaps import SitemapReader
from recrawl.crawl.trust import ValidatorTrust
from recrawl.errors import BadInput
from recrawl.fetch import LiveEngine
from recrawl.history import Store
from recrawl.model import VISITS
from recrawl.planner import load_rules
from recrawl.planner.policy import find_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from recrawl.crawl.loop import CycleResult
    from recrawl.model import Time
    from recrawl.planner import Rule
    from recrawl.protocols import Policy

HOSTS_FILE = "hosts.jsonl"  #: in the folder of the store: what hosts asked for
MAX_CLOCK_LAG = 300.0  #: seconds by which the clock may be behind the last visit


@contextmanager
def start_crawl(
    store: Store | str | Path,
    seeds: Iterable[str] = (),
    *,
    budget: str | int = "500/day",
    every: str | float = "1h",
    until: str | Time | None = None,
    policy: str | Policy | None = None,
    objective: str | None = None,
    queries: str | Path | None = None,
    discover: str | float = "20%",
    reach: str = "host",
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    depth: int | None = None,
    pages_per_host: int = 100_000,
    delay: str | float = "1s",
    proxy: str | None = None,
    simulated: bool = False,
    allow_private: bool = False,
    sitemaps: bool = True,
    rules: Sequence[Rule] | str | Path = (),
    seed: int = 0,
    clock: CrawlClock | None = None,
    **engine: Any,
) -> Iterator[LiveCrawl]:
    """A crawl to `run`. It can be continued later from its store, then without seeds.

    The arguments are those of `recrawl crawl`. `seeds` are URLs or the lines of a seeds file,
    `every` is the length of a cycle, `until` a time or a duration from now ("30d"), `discover` the
    share of the budget for pages never visited. `reach`, `only`, `skip`, `depth` and
    `pages_per_host` make up the `Scope`. With `simulated`, the time is that of the living web at
    `proxy`. Further arguments go to `LiveEngine`: contact, warc, timeout, …

    All arguments are checked before the store is created.
    """
    seed_urls = read_seeds(seeds)
    end = math.inf
    if simulated:
        clock, end = simulated_clock(proxy or "")
    elif clock is None:
        clock = CrawlClock(time.time())  # noqa: TID251 - a live crawl reads a clock
    cycle_seconds = _seconds(every)
    options: dict[str, Any] = {
        "policy": find_policy(policy, objective=objective, queries=queries, seed=seed),
        "pace": Pace.parse(str(budget)),
        "clock": clock,
        "every": cycle_seconds,
        "end": min(_end(until, clock.now()), end),
        "discover": units.share(discover) if isinstance(discover, str) else discover,
        "rules": load_rules(rules) if isinstance(rules, str | Path) else rules,
        "seed": seed,
    }
    options["pace"].check(cycle_seconds)
    scope = Scope(reach, tuple(only), tuple(skip), depth, pages_per_host)
    live = LiveEngine(
        clock=clock.now,
        delay=_seconds(delay),
        proxy=proxy,
        allow_private=allow_private,
        **{"deadline": clock.real_seconds(cycle_seconds)} | engine,
    )
    opened = nullcontext(store) if isinstance(store, Store) else Store.open(store, create=True)
    with opened as history:
        _wait_for_last_visit(history, clock)
        history.append(VISITS.empty_table())  # fails now if another process is writing
        live.validators = live.validators or ValidatorTrust(history, clock.now, seed).validators
        live.hosts_file = live.hosts_file or history.path / HOSTS_FILE
        with live:
            discovery = Discovery(history, scope, seed_urls, allow_private=allow_private)
            discovery.start(now=clock.now())
            reader = SitemapReader(history, live, discovery) if sitemaps else None
            try:
                yield LiveCrawl(history, live, discovery=discovery, sitemaps=reader, **options)
            finally:
                if reader is not None:
                    reader.close()


def crawl(
    store: Store | str | Path,
    seeds: Iterable[str] = (),
    *,
    cycles: int | None = None,
    started: Callable[[LiveCrawl], None] | None = None,
    **options: Any,
) -> Generator[CycleResult]:
    """Crawl the live web, and yield the result of each cycle; at most `cycles` if given.

    The options are those of `start_crawl`: contact, budget, until, policy, … `started` is called
    with the crawl before its first cycle; its `stop` ends it without losing a fetch.
    """
    with start_crawl(store, seeds, **options) as live:
        if started is not None:
            started(live)
        yield from live.run(cycles)


def _seconds(duration: str | float) -> float:
    return units.duration(duration) if isinstance(duration, str) else duration


def _end(until: str | Time | None, now: Time) -> Time:
    if not isinstance(until, str):
        return math.inf if until is None else until
    try:
        return now + units.duration(until)
    except BadInput:
        return units.time(until)


def _wait_for_last_visit(store: Store, clock: CrawlClock) -> None:
    """Wait if the clock was set back a little: no visit may be older than the last one."""
    now, last = clock.now(), store.summary().last_visit or 0.0
    if last - now > MAX_CLOCK_LAG:
        raise BadInput(
            f"The store has visits up to {units.show_time(last)}, but the clock says "
            f"{units.show_time(now)}. Correct the clock, or start another store."
        )
    clock.wait(last, lambda: False)
