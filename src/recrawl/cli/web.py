"""The command that serves a trace as a living web."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path  # noqa: TC003  # typer reads it at run time
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl import units
from recrawl.cli.common import Window, err, say
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.lab.web import LivingWeb, Outage


def web(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="Folder, file, or a world's name.")],
    speed: Annotated[str, typer.Option(help="Simulated time/real time.")] = "1d/2s",
    manual: Annotated[  # noqa: FBT002
        bool, typer.Option("--manual", help="Time stands still until it is set.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 0,
    pages: Annotated[int | None, typer.Option(min=1, help="Size of a world.")] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Length of a world.")] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of a world, and of which hosts do what.")
    ] = 0,
    window: Window = None,
    seeds: Annotated[
        Path | None, typer.Option(help="File to write the URLs there at the start to.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="File to write each request to.")] = None,
    truth: Annotated[bool, typer.Option("--truth", help="Serve the truth too, for tests.")] = False,  # noqa: FBT002
    robots_delay: Annotated[str, typer.Option(help="Crawl-delay of all hosts.")] = "0s",
    redirects: Annotated[str, typer.Option(help="Share of the pages that moved.")] = "0%",
    disallowed: Annotated[
        str, typer.Option(help="Hosts with a directory closed to robots.")
    ] = "0%",
    slow: Annotated[str, typer.Option(help="Hosts that take a second to answer.")] = "0%",
    failing: Annotated[str, typer.Option(help="Hosts that answer 503 half of the time.")] = "0%",
    lying: Annotated[
        str, typer.Option(help="Hosts that answer 304 although a page changed.")
    ] = "0%",
    wrong: Annotated[str, typer.Option(help="Hosts with a new ETag every time.")] = "0%",
    no_validators: Annotated[str, typer.Option(help="Hosts without validators.")] = "0%",
    restamped: Annotated[str, typer.Option(help="Hosts whose sitemap always says now.")] = "0%",
    stale: Annotated[str, typer.Option(help="Hosts whose sitemap never changes.")] = "0%",
    down: Annotated[
        list[str], typer.Option(help="HOST:A..B, outage in days; may be repeated.")
    ] = [],  # noqa: B006
) -> None:
    """Serve a trace as a web that changes while you watch."""
    from recrawl.lab.web import Behaviours, LivingWeb, run, trace_of

    behaviours = Behaviours(
        redirects=units.share(redirects),
        disallowed=units.share(disallowed),
        slow=units.share(slow),
        failing=units.share(failing),
        lying=units.share(lying),
        wrong=units.share(wrong),
        no_validators=units.share(no_validators),
        restamped=units.share(restamped),
        stale=units.share(stale),
        robots_delay=units.duration(robots_delay),
        down=tuple(map(_outage, down)),
        seed=seed,
    )
    pace = None if manual else units.speed(speed)
    served = trace_of(trace, pages=pages, days=days, seed=seed, window=units.window(window))
    with (
        log.open("w", encoding="utf-8", buffering=1) if log else nullcontext() as file,
        err.status("") if err.is_terminal else nullcontext() as status,
    ):
        made = LivingWeb(served, behaviours=behaviours, speed=pace, truth=truth, log=file)
        if seeds:
            seeds.write_text("".join(url + "\n" for url in made.seeds()), encoding="utf-8")

        def watch(now: float, asked: int) -> None:
            if status:
                status.update(f"{units.show_time(now)}, {units.count(asked, 'request')}")

        run(made, port=port, ready=lambda: _welcome(made, seeds), watch=watch if status else None)


def _welcome(made: LivingWeb, seeds: Path | None) -> None:
    hosts = units.count(len(made.truth.hosts), "host")
    say(f"{units.count(len(made.truth.urls), 'page')} on {hosts} behind the proxy {made.proxy}")
    example = next(iter(made.seeds()), made.truth.urls[0])
    say(f"one page   curl -x {made.proxy} {example}")
    at = f"--seeds {seeds or 'FILE'} --proxy {made.proxy}"
    say(f"a crawl    recrawl crawl STORE {at} --simulated --delay 0s")
    say("Ctrl-C ends it.", err)


def _outage(written: str) -> Outage:
    from recrawl.lab.web import Outage

    days = r"(\d+(?:\.\d+)?)"
    match = re.fullmatch(rf"(.+):{days}\.\.{days}", written)
    if match is None:
        raise BadInput(f"--down must be HOST:A..B, in days. Got {written!r}; try a.org:3..10.")
    return Outage(match[1], float(match[2]), float(match[3]))
