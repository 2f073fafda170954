"""What the commands share: consoles, options, and words turned into values."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

import recrawl
from recrawl import units
from recrawl.errors import BadInput
from recrawl.policies.auto import PART, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from recrawl.model import Budget

WIDE = 10_000  #: columns of what has no edge
out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True, highlight=False)

Ties = StrEnum("Ties", ["hash", "id"])

StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="Folder of the crawl's history.")]
PolicyName = Annotated[str | None, typer.Option("--policy", help="See `recrawl parts policy`.")]
Objective = Annotated[
    str | None,
    typer.Option(
        help="freshness, age, new-links, search, …, or with weights: age=1,new-links=2; not with "
        "--policy."
    ),
]
Queries = Annotated[
    Path | None, typer.Option(help="Of --objective search: file of query and frequency.")
]
BudgetText = Annotated[str, typer.Option(help="Fetches (1000), or a share of the pages (5%).")]
Now = Annotated[str | None, typer.Option(help="As of this time (ISO 8601, UTC) instead of now.")]
Rules = Annotated[Path | None, typer.Option(help="TOML file with per-pattern rules.")]
HostCap = Annotated[int | None, typer.Option(min=0, max=2**62, help="Most fetches of one host.")]
HostDelay = Annotated[str, typer.Option(help="Least time between fetches of a host.")]
Every = Annotated[str, typer.Option(help="Length of a cycle.")]
Bytes = Annotated[str | None, typer.Option("--bytes", help="Most to download: 20MB.")]
Duration = Annotated[str | None, typer.Option("--time", help="Most time to fetch: 1h.")]
Discover = Annotated[
    str | None, typer.Option(help="Share for pages never visited, apart from the others.")
]
Explore = Annotated[str, typer.Option(help="Share for the longest unseen pages.")]
TieRule = Annotated[Ties, typer.Option(help="Of equal scores: hash, or lowest id.")]
Seed = Annotated[int, typer.Option(help="Draws the order of ties, and a random policy.")]


def say(text: str, where: Console = out) -> None:
    """Print data as it is: no markup, no wrapping."""
    where.print(text, markup=False, soft_wrap=True)


def show(*columns: str, rows: Iterable[Sequence[str]]) -> None:
    """Print a table, past the edge of the terminal if need be: a URL cut in two is of no use."""
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(Text, row))
    width, out.width = out.width, WIDE
    out.print(table, crop=False, soft_wrap=True)
    out.width = width


@contextmanager
def progress_bar(first: str, total: int) -> Iterator[Callable[[str], None] | None]:
    """A function to call with what was just done; nothing in a pipe."""
    if not err.is_terminal:
        yield None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=err, transient=True) as bar:
        task = bar.add_task(first, total=total)
        yield lambda done: bar.update(task, advance=1, description=done)


def policy_name(policy: str | None, objective: str | None, queries: Path | None = None) -> str:
    if policy and objective:
        raise BadInput(
            f"Give --policy or --objective, not both. Got {policy!r} and {objective!r}; "
            "an objective names the policy that pursues it."
        )
    if queries and not objective:
        raise BadInput(f"--queries must go with --objective search. Got {queries} without it.")
    return policy or (pursuing(objective, queries) if objective else recrawl.DEFAULT_POLICY)


def pursuing(objective: str, queries: Path | None = None) -> str:
    """The policy for an objective, or for several with weights."""
    wanted = weights(objective)  # complains of what is none
    if ("search" in wanted) != (queries is not None):
        raise BadInput(
            "--objective search, alone or weighed with others, must be given with --queries FILE, "
            f"what people search for, and nothing else may. Got {objective!r} and {queries}."
        )
    part = PART.get(next(iter(wanted))) if len(wanted) == 1 else None
    name = part or f"auto:objective={objective.replace(',', '+')}"
    asked = f"{',' if ':' in name else ':'}queries={queries}" if queries else ""
    return name + asked


def budget_of(
    budget: str,
    host_cap: int | None,
    host_delay: str,
    every: str,
    size: str | None,
    duration: str | None,
    explore: str,
    discover: str | None,
) -> Budget:
    return replace(
        units.budget(budget),
        host_cap=host_cap,
        host_delay=units.duration(host_delay),
        every=units.duration(every),
        bytes=units.size(size) if size else None,
        seconds=units.duration(duration) if duration else None,
        explore=units.share(explore),
        discover=None if discover is None else units.share(discover),
    )


def clock(now: str | None) -> float:
    return units.time(now) if now else time.time()  # noqa: TID251  # the one place with a clock


def span(window: str | None) -> tuple[float, float] | None:
    """The times in A..B."""
    if window is None:
        return None
    begin, dots, end = window.partition("..")
    if not dots:
        raise BadInput(f"--window must be A..B. Got {window!r}; try 2026-01-01..2026-03-01.")
    return units.time(begin), units.time(end)


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on a terminal: tell it how far the work is, of how much, and what was found so far."""
    if not err.is_terminal:
        yield lambda *_: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[found]}", markup=False), console=err) as shown:
        task = shown.add_task(what, found="")

        def tell(done: int, of: int, found: str) -> None:
            short = found if len(found) < 70 else found[:69] + "…"
            shown.update(task, completed=done, total=of, found=short)

        yield tell
