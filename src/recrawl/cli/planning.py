"""Commands that say what to fetch, and why."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

import recrawl
from recrawl.adapters.files import FORMATS, lines
from recrawl.cli.common import StorePath, err, out, say, show, with_plan_options

if TYPE_CHECKING:
    from recrawl.planner import Plan

MAX_ROWS = 20  #: pages of a plan that are shown on a terminal
Format = StrEnum("Format", ["table", *FORMATS])  # type: ignore[misc]


@with_plan_options
def plan(
    store: StorePath,
    arguments: dict[str, Any],
    format: Annotated[  # noqa: A002
        Format | None, typer.Option(help="Default: table on a terminal, jsonl in a pipe.")
    ] = None,
) -> None:
    """Say which pages to fetch next, best first, and why."""
    chosen = recrawl.plan(recrawl.open(store), **arguments)
    if not len(chosen):
        say("Nothing planned: the budget, caps, rules or back-off leave no page.", err)
    shape = format.value if format else ("table" if out.is_terminal else "jsonl")
    if shape == "table":
        _show(chosen)
    else:
        for line in lines(chosen, shape):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()


@with_plan_options
def explain(
    store: StorePath,
    url: Annotated[str, typer.Argument(metavar="URL")],
    arguments: dict[str, Any],
) -> None:
    """Say what is known of a page, how it ranks, and what would have it picked."""
    say(str(recrawl.explain(recrawl.open(store), url, **arguments)))


def _show(chosen: Plan) -> None:
    rows = [
        (str(record["rank"]), f"{record['p_change']:.2f}", record["reason"], record["url"])
        for record in chosen.head(MAX_ROWS)
    ]
    show("rank", "p(change)", "reason", "page", rows=rows)
    if len(chosen) > MAX_ROWS:
        out.print(f"… and {len(chosen) - MAX_ROWS:,} more; --format jsonl or urls prints them all.")
