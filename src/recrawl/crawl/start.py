"""A crawl from plain arguments: a store, seeds, a budget and a few options."""

from __future__ import annotations

import logging
import math
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recrawl import units
from recrawl.crawl.clock import ForwardClock, WallClock, simulated_clock
from recrawl.crawl.discover import Discovery, read_seeds
from recrawl.crawl.loop import LiveCrawl
from recrawl.crawl.pace import Pace
from recrawl.crawl.scope import Scope
from recrawl.crawl.sitemaps import SitemapReader
from recrawl.crawl.trust import ValidatorTrust
from recrawl.errors import BadInput
from recrawl.fetch import LiveEngine
from recrawl.history import Store
from recrawl.model import DAY, VISITS
from recrawl.planner import load_rules
from recrawl.planner.policy import find_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from recrawl.crawl.clock import Clock
    from recrawl.crawl.loop import CycleResult
    from recrawl.model import Time
    from recrawl.planner import Rule
    from recrawl.protocols import Policy

HOSTS_FILE = "hosts.jsonl"  #: in the folder of the store: what hosts asked for
MAX_AHEAD = DAY  #: seconds by which the last visit may be ahead of the clock

_log = logging.getLogger(__name__)


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
    host_share: str | float = "80%",
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
    clock: Clock | None = None,
    **engine: Any,
) -> Iterator[LiveCrawl]:
    """A crawl to `run`. It can be continued later from its store, then without seeds.

    The arguments are those of `recrawl crawl`. `seeds` are URLs or the lines of a seeds file,
    `every` is the length of a cycle, `until` a time or a duration from now ("30d"), `discover` the
    share of the budget for pages never visited, `host_share` the most of a cycle's fetches that one
    host gets while others have pages. `reach`, `only`, `skip`, `depth` and
    `pages_per_host` make up the `Scope`. With `simulated`, the time is that of the living web at
    `proxy`. Further arguments go to `LiveEngine`: contact, warc, timeout, …

    All arguments are checked before the store is created.
    """
    seed_urls = read_seeds(seeds)
    end = math.inf
    if simulated:
        clock, end = simulated_clock(proxy or "")
    time = ForwardClock(clock or WallClock())
    cycle_seconds = _seconds(every)
    options: dict[str, Any] = {
        "policy": find_policy(policy, objective=objective, queries=queries, seed=seed),
        "pace": Pace.parse(str(budget)),
        "clock": time,
        "every": cycle_seconds,
        "end": min(_end(until, time.now()), end),
        "discover": units.share(discover) if isinstance(discover, str) else discover,
        "host_share": units.share(host_share) if isinstance(host_share, str) else host_share,
        "rules": load_rules(rules) if isinstance(rules, str | Path) else rules,
        "seed": seed,
    }
    options["pace"].check(cycle_seconds)
    scope = Scope(reach, tuple(only), tuple(skip), depth, pages_per_host)
    live = LiveEngine(
        clock=time.now,
        delay=_seconds(delay),
        proxy=proxy,
        allow_private=allow_private,
        **{"deadline": time.real_seconds(cycle_seconds)} | engine,
    )
    opened = nullcontext(store) if isinstance(store, Store) else Store.open(store, create=True)
    with opened as history:
        _begin_after_last_visit(history, time)
        history.append(VISITS.empty_table())  # fails now if another process is writing
        live.validators = live.validators or ValidatorTrust(history, time.now, seed).validators
        live.hosts_file = live.hosts_file or history.path / HOSTS_FILE
        with live:
            discovery = Discovery(history, scope, seed_urls, allow_private=allow_private)
            discovery.start(now=time.now())
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


def _begin_after_last_visit(store: Store, time: ForwardClock) -> None:
    """Begin at the last visit if the clock is behind it: no visit may be older than that."""
    now, last = time.now(), store.summary().last_visit or 0.0
    if last - now > MAX_AHEAD:
        raise BadInput(
            f"The store has visits up to {units.show_time(last)}, more than a day ahead of the "
            f"clock, which says {units.show_time(now)}. Correct the clock; if it is right, those "
            "visits are wrong: start another store, or wait for that time."
        )
    if last > now:
        _log.warning(
            "The store has visits up to %s, ahead of the clock. The crawl begins at that time, and "
            "its time runs at half the speed until the clock has caught up.",
            units.show_time(last),
        )
    time.advance(last + 0.001)  # visits at one time would be one visit
