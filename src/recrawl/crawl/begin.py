"""What makes up a crawl? Its parts, put together from a store, seeds and a few decisions."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from recrawl import units
from recrawl.crawl.discover import Discovery, read_seeds
from recrawl.crawl.loop import Crawl
from recrawl.crawl.sitemaps import Sitemaps
from recrawl.crawl.trust import Trust
from recrawl.errors import BadInput
from recrawl.fetch import LiveEngine
from recrawl.model import VISITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from recrawl.crawl.clock import Clock
    from recrawl.crawl.pace import Pace
    from recrawl.crawl.scope import Scope
    from recrawl.history import Store
    from recrawl.planner import Rule
    from recrawl.protocols import Policy


PATIENCE = 300.0  #: seconds by which a clock may have been set back


@contextmanager
def begin(
    store: Store,
    seeds: Iterable[str],
    *,
    pace: Pace,
    scope: Scope,
    policy: Policy,
    clock: Clock,
    every: float,
    sitemaps: bool = True,
    discover: float = 0.2,
    rules: Sequence[Rule] = (),
    seed: int = 0,
    allow_private: bool = False,
    **engine: Any,
) -> Iterator[Crawl]:
    """A crawl to be `run`, in cycles of `every` seconds; it can go on later from its store.

    `seeds` are URLs, or the lines of a file of them; none are needed to go on. What else is given
    goes to `LiveEngine`: contact, delay, proxy, warc, …
    """
    urls = read_seeds(seeds)
    pace.check(every)
    _wait_for_the_past(store, clock)
    store.append(VISITS.empty_table())  # refused now, if another process is writing
    decided: dict[str, Any] = {
        "clock": clock.now,
        "deadline": clock.real(every),
        "validators": Trust(store, clock.now, seed).validators,
    }
    with LiveEngine(allow_private=allow_private, **(decided | engine)) as live:
        discovery = Discovery(store, scope, urls, allow_private=allow_private)
        discovery.begin(now=clock.now())
        yield Crawl(
            store=store,
            engine=live,
            policy=policy,
            pace=pace,
            discovery=discovery,
            clock=clock,
            every=every,
            sitemaps=Sitemaps(store, live, discovery) if sitemaps else None,
            discover=discover,
            rules=rules,
            seed=seed,
        )


def _wait_for_the_past(store: Store, clock: Clock) -> None:
    """A clock that was set back: no visit may be older than the last one."""
    now, last = clock.now(), store.summary().last_visit or 0.0
    if last - now > PATIENCE:
        raise BadInput(
            f"The store has visits up to {units.show_time(last)}, but the clock says "
            f"{units.show_time(now)}. Correct the clock, or begin another store."
        )
    clock.wait(last, lambda: False)
