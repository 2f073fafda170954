"""The command crawl as one call: plain arguments in, the result of each cycle out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recrawl.crawl.start import start_crawl

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    from recrawl.crawl.loop import CycleResult, LiveCrawl
    from recrawl.history import Store


def crawl(
    store: Store | str | Path,
    seeds: Iterable[str] = (),
    *,
    cycles: int | None = None,
    started: Callable[[LiveCrawl], None] | None = None,
    **options: Any,
) -> Generator[CycleResult]:
    """Crawl the live web for as long as this is iterated, or for so many `cycles`.

    The options are those of `start_crawl`: contact, budget, until, policy, … `started` is called
    with the crawl before its first cycle; its `stop` ends it without losing a fetch.
    """
    with start_crawl(store, seeds, **options) as live:
        if started is not None:
            started(live)
        yield from live.run(cycles)
