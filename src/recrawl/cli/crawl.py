"""The command that crawls."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path  # noqa: TC003  # typer reads it at run time
from typing import TYPE_CHECKING, Annotated

import typer

import recrawl
from recrawl import units
from recrawl.cli.common import (
    Objective,
    PolicyName,
    Queries,
    Rules,
    Seed,
    StorePath,
    err,
    options_named,
    out,
    say,
)
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from recrawl.crawl import CycleResult, LiveCrawl
    from recrawl.fetch import LiveEngine


def crawl(
    store: StorePath,
    seeds: Annotated[
        Path | None,
        typer.Option(help="File of URLs to begin with, one a line; not needed to go on."),
    ] = None,
    budget: Annotated[
        str, typer.Option(help="500/day, 20/h; or 200 or 2% in each cycle.")
    ] = "500/day",
    every: Annotated[str, typer.Option(help="Length of a cycle.")] = "1h",
    until: Annotated[str | None, typer.Option(help="A time, or a duration: 30d.")] = None,
    cycles: Annotated[int | None, typer.Option(min=1, help="End after this many cycles.")] = None,
    policy: PolicyName = None,
    objective: Objective = None,
    queries: Queries = None,
    discover: Annotated[str, typer.Option(help="Share for pages never visited.")] = "20%",
    host_share: Annotated[
        str, typer.Option(help="Most of a cycle for one host while others have pages.")
    ] = "80%",
    reach: Annotated[str, typer.Option(help="How far from the seeds: host, site or any.")] = "host",
    only: Annotated[list[str], typer.Option(help="Only URLs like https://a.org/docs/*.")] = [],  # noqa: B006
    skip: Annotated[list[str], typer.Option(help="No URLs like */calendar/*.")] = [],  # noqa: B006
    depth: Annotated[int | None, typer.Option(min=0, help="Maximum of links from a seed.")] = None,
    pages_per_host: Annotated[
        int, typer.Option(min=1, help="Maximum of pages to know of one host.")
    ] = 100_000,
    contact: Annotated[
        str | None, typer.Option(help="URL or e-mail at which hosts can reach you; required.")
    ] = None,
    delay: Annotated[str, typer.Option(help="Minimum time between fetches from one host.")] = "1s",
    proxy: Annotated[str | None, typer.Option(help="http://host:port")] = None,
    simulated: Annotated[  # noqa: FBT002
        bool, typer.Option("--simulated", help="Use the time of the living web at --proxy.")
    ] = False,
    allow_private: Annotated[  # noqa: FBT002
        bool,
        typer.Option(
            "--allow-private", help="Fetch from private addresses too, as in an intranet."
        ),
    ] = False,
    warc: Annotated[Path | None, typer.Option(help="Keep a WARC archive in this folder.")] = None,
    sitemaps: Annotated[  # noqa: FBT002
        bool, typer.Option(help="Read sitemaps and feeds for new and changed pages.")
    ] = True,
    rules: Rules = None,
    seed: Seed = 0,
) -> None:
    """Visit new pages and revisit known ones, within a budget, until you stop it."""
    with ExitStack() as stack:
        stack.enter_context(options_named(crawl))

        def started(made: LiveCrawl) -> None:
            stack.enter_context(_ends_clean(made))
            stack.enter_context(_live(made.engine))

        running = recrawl.crawl(
            store,
            _lines(seeds) if seeds else (),
            contact=contact,
            budget=budget,
            every=every,
            until=until,
            cycles=cycles,
            policy=policy,
            objective=objective,
            queries=queries,
            discover=discover,
            host_share=host_share,
            reach=reach,
            only=only,
            skip=skip,
            depth=depth,
            pages_per_host=pages_per_host,
            delay=delay,
            proxy=proxy,
            simulated=simulated,
            allow_private=allow_private,
            warc=warc,
            sitemaps=sitemaps,
            rules=rules or (),
            seed=seed,
            started=started,
        )
        done = 0
        for done, cycle in enumerate(stack.enter_context(closing(running)), 1):  # noqa: B007
            _print_cycle(cycle)
        if not done:
            say("No cycle was run: the end is past already, or the crawl was stopped.", err)


def _lines(file: Path) -> list[str]:
    try:
        return sys.stdin.readlines() if str(file) == "-" else file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--seeds must be a text file. Got {file}: {error}.") from error


@contextmanager
def _ends_clean(made: LiveCrawl) -> Iterator[None]:
    """The first Ctrl-C waits for the fetches in flight; the second does not."""

    def ask(number: int, _: object) -> None:
        say("Stopping after the fetches in flight. Ctrl-C again stops at once.", err)
        signal.signal(number, at_once)
        made.stop()

    def at_once(number: int, _: object) -> None:
        out.show_cursor()  # which the live line hides
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _live(engine: LiveEngine) -> AbstractContextManager[object]:
    """A line of progress below the others; nothing in a pipe."""
    if not (out.is_terminal or err.is_terminal):
        return nullcontext()
    from rich.live import Live
    from rich.text import Text

    def line() -> Text:
        at = engine.progress
        return Text(
            f"{at.fetched:,} fetched, {at.failed:,} failed, {at.in_flight} in flight, "
            f"{at.waiting:,} waiting, {units.count(at.hosts, 'host')} due"
        )

    # On the console of the cycles' lines if that is a terminal, so that they do not overlap.
    return Live(get_renderable=line, console=out if out.is_terminal else err, transient=True)


def _print_cycle(cycle: CycleResult) -> None:
    """One line per cycle: for people on a terminal, JSON in a pipe."""
    if not out.is_terminal:
        record = asdict(cycle) | {"at": units.show_time(cycle.at)}
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()
        return
    say(
        f"{units.show_time(cycle.at)}  {cycle.fetched:>5,} fetched  {cycle.changed:>5,} changed  "
        f"{cycle.failed:>4,} failed  {cycle.new_links:>6,} new links  "
        f"{cycle.pages:>8,} pages ({cycle.new_pages:,} new)"
    )
    if cycle.skipped:
        say(f"  skipped {cycle.show_skipped()}")
