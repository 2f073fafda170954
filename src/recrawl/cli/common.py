"""What the commands share: consoles, options, progress bars."""

from __future__ import annotations

import re
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import recrawl
from recrawl import units
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

PIPE_COLUMNS = 10_000  #: width of a table that has no terminal to fit
#: Control characters but tab and line feed, line separators, and marks of writing direction.
_STEERING = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
out = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_COLUMNS)
err = Console(stderr=True, highlight=False)

SLOW_SECONDS = 2.0
SLOW = (
    "Learning from the visits. The first time on a machine this takes longer: parts are compiled, "
    "once."
)

Ties = StrEnum("Ties", ["hash", "id"])

StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="Folder of the crawl's history.")]
PolicyName = Annotated[
    str | None,
    typer.Option("--policy", help="Name, my_policy.py or package.module:Class; see `parts`."),
]
Objective = Annotated[
    str | None,
    typer.Option(
        help="freshness, age, new-links, search, …, or with weights: age=1,new-links=2. It takes "
        "the place of --policy."
    ),
]
Queries = Annotated[
    Path | None, typer.Option(help="For --objective search: a file of queries and frequencies.")
]
BudgetText = Annotated[str, typer.Option(help="Fetches (1000), or a share of the pages (5%).")]
Now = Annotated[str | None, typer.Option(help="As of this time (ISO 8601, UTC) instead of now.")]
Rules = Annotated[Path | None, typer.Option(help="TOML file of rules by URL pattern.")]
HostCap = Annotated[
    int | None, typer.Option(min=0, max=2**62, help="Maximum of fetches from one host.")
]
HostDelay = Annotated[str, typer.Option(help="Minimum time between fetches from one host.")]
Every = Annotated[str, typer.Option(help="Length of a cycle.")]
Bytes = Annotated[str | None, typer.Option("--bytes", help="Maximum to download: 20MB.")]
Duration = Annotated[str | None, typer.Option("--time", help="Maximum time to fetch: 1h.")]
Discover = Annotated[
    str | None, typer.Option(help="Share reserved for pages never visited; else they compete.")
]
Explore = Annotated[str, typer.Option(help="Share for the pages unseen for longest.")]
TieRule = Annotated[Ties, typer.Option(help="Order of equal scores: random, or lowest id first.")]
Seed = Annotated[int, typer.Option(help="Seed of the order of ties, and of a random policy.")]
Window = Annotated[
    str | None, typer.Option(help="A..B, the time to use, if the trace does not say.")
]
Impute = Annotated[
    bool, typer.Option("--impute", help="Guess what failed visits of a store would have shown.")
]


def harmless(text: str) -> str:
    """The text without characters that would steer a terminal, or show another order of letters."""
    return _STEERING.sub("\ufffd", text)


def say(text: str, where: Console = out) -> None:
    """Print data as it is: no markup, no wrapping."""
    where.print(harmless(text), markup=False, soft_wrap=True)


def show(*columns: str, rows: Iterable[Sequence[str]]) -> None:
    """Print a table, wider than the terminal if need be: a URL cut in two is of no use."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(" ".join(harmless(cell).split())) for cell in row))
    width, out.width = out.width, PIPE_COLUMNS
    out.print(table, crop=False, soft_wrap=True)
    out.width = width


def plan_arguments(
    budget: BudgetText = "5%",
    policy: PolicyName = None,
    objective: Objective = None,
    queries: Queries = None,
    host_cap: HostCap = None,
    host_delay: HostDelay = "0s",
    every: Every = "1d",
    size: Bytes = None,
    duration: Duration = None,
    explore: Explore = "0%",
    discover: Discover = None,
    rules: Rules = None,
    ties: TieRule = Ties.hash,
    seed: Seed = 0,
    now: Now = None,
) -> dict[str, Any]:
    """The options of `recrawl plan` → the arguments of `recrawl.plan`."""
    spend = replace(
        units.budget(budget),
        host_cap=host_cap,
        host_delay=units.duration(host_delay),
        every=units.duration(every),
        bytes=units.size(size) if size else None,
        seconds=units.duration(duration) if duration else None,
        explore=units.share(explore),
        discover=None if discover is None else units.share(discover),
    )
    return {
        "budget": spend,
        "now": clock(now),
        "policy": policy,
        "objective": objective,
        "queries": queries,
        "rules": recrawl.load_rules(rules) if rules else (),
        "ties": ties.value,
        "seed": seed,
    }


def with_plan_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of `plan_arguments`, given to it as `arguments`."""
    own = [
        p for p in signature(command, eval_str=True).parameters.values() if p.name != "arguments"
    ]
    shared = signature(plan_arguments, eval_str=True).parameters.values()

    @wraps(command)
    def run(**given: Any) -> None:
        mine = {p.name: given.pop(p.name) for p in own}
        with said_if_slow():
            command(**mine, arguments=plan_arguments(**given))

    parameters = sorted((*own, *shared), key=lambda p: p.default is not p.empty)
    keywords = [p.replace(kind=p.KEYWORD_ONLY) for p in parameters]
    run.__signature__ = Signature(keywords)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {p.name: p.annotation for p in keywords}
    return run


@contextmanager
def options_named(command: Callable[..., None]) -> Iterator[None]:
    """Errors about a parameter of the library name the option of the command that sets it."""
    try:
        yield
    except BadInput as error:
        names = "|".join(signature(command).parameters)
        text = re.sub(rf"^(?:LiveEngine: )?({names})\b", _option, str(error))
        text = re.sub(rf"\b({names})=…", _option, text)
        raise type(error)(text) from error


def _option(name: re.Match[str]) -> str:
    return "--" + name[1].replace("_", "-")


def clock(now: str | None = None) -> float:
    """The time given, or the time of day."""
    return units.time(now) if now else time.time()  # noqa: TID251  # the one place with a clock


@contextmanager
def said_if_slow() -> Iterator[None]:
    """Say on a terminal what is going on, if it takes longer than SLOW_SECONDS."""
    if not err.is_terminal:
        yield
        return
    timer = Timer(SLOW_SECONDS, err.print, [SLOW])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """A function that moves a bar on a terminal; in a pipe it does nothing.

    With a `total`, call it with each thing done; else with how much is done, of how much, and the
    news so far.
    """
    if not err.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    times = TimeElapsedColumn() if total is None else TimeRemainingColumn()
    columns = (BarColumn(), MofNCompleteColumn(), times, TextColumn("{task.description}"))
    with Progress(*columns, console=err, transient=total is not None) as bar:
        task = bar.add_task(what, total=total)

        def advance(done: str) -> None:
            bar.update(task, advance=1, description=escape(harmless(done)))

        def move(done: int, of: int, news: str) -> None:
            text = f"{what}  {news if len(news) < 70 else news[:69] + '…'}"
            bar.update(task, completed=done, total=of, description=escape(harmless(text)))

        yield move if total is None else advance
