"""The command line: each command is one library call in the same words."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

import recrawl
from recrawl import registry
from recrawl.cli import crawl, evolve, history, lab, papers, planning, search, web
from recrawl.cli.common import err, out, say
from recrawl.errors import RecrawlError

app = typer.Typer(
    help="Decide which web pages to fetch again, and when.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Kind = StrEnum("Kind", list(registry.GROUPS))  # type: ignore[misc]


@app.callback(invoke_without_command=True)
def _root(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        out.print(recrawl.__version__)
        raise typer.Exit


@app.command()
def parts(kind: Annotated[Kind | None, typer.Argument()] = None) -> None:
    """List the policies, rates, detectors, readers and worlds, and where they come from."""
    from rich.table import Table
    from rich.text import Text

    table = Table("kind", "name", "from", "answers", box=None)
    for each in [kind.value] if kind else list(registry.GROUPS):
        for name, part in registry.parts_with_origin(each).items():
            cells = (each, name, part.origin, part.summary())
            table.add_row(*map(Text, cells))  # not as markup: parts come from anywhere
    out.print(table)


for command in (
    history.ingest,
    planning.plan,
    planning.explain,
    history.info,
    lab.replay,
    lab.world,
    lab.judge,
    web.web,
    crawl.crawl,
    evolve.evolve,
    search.search,
):
    app.command()(command)
app.add_typer(papers.paper, name="paper")


def main() -> None:
    """Run the command line."""
    try:
        app()
    except RecrawlError as error:
        say(f"recrawl: {error}", err)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has closed it, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # such as a full disk, or a path that is no file
        say(f"recrawl: {error.filename or 'output'}: {error.strerror or error}.", err)
        sys.exit(1)
