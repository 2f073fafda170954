"""Commands that fill a store and say what it holds."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import recrawl
from recrawl import units
from recrawl.cli.common import StorePath, clock, err, say
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOME_REJECTED = 3  #: exit status of an ingest that kept everything but some malformed records


def ingest(
    store: StorePath,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="`-` is standard input.")],
    format: Annotated[  # noqa: A002
        str | None, typer.Option(help="Reader to use, if it should not be recognised; see `parts`.")
    ] = None,
    rejects: Annotated[
        Path | None, typer.Option(help="File for malformed records, as JSON lines with reasons.")
    ] = None,
    detector: Annotated[
        str | None,
        typer.Option(help="What counts as a change, for a new store: digest, simhash:bits=5…"),
    ] = None,
) -> None:
    """Add the visits of crawl files to a store, which is created if need be."""
    if rejects and any(
        Path(name).exists() and rejects.samefile(name) for name in files if rejects.exists()
    ):
        raise BadInput(f"--rejects must not be one of the files to read. Got {str(rejects)!r}.")
    from recrawl.ingest.crawl_files import CrawlFiles

    with (
        CrawlFiles(files, format) as recognised,  # before a store is made
        recrawl.open(store, create=True, detector=detector) as opened,
        rejects.open("w", encoding="utf-8") if rejects else nullcontext() as sink,
        _bar() as bar,
    ):
        report = recrawl.ingest(opened, recognised, now=clock(), rejects=sink, progress=bar)
    say(str(report), err)
    if report.rejected:
        examples = [line for file in report.files for line in file.examples]
        for line in examples[:3] if rejects is None else ():
            say(f"rejected {line}", err)
        if rejects is None and report.rejected > len(examples[:3]):
            say("Run again with --rejects FILE to see them all; nothing is added twice.", err)
        raise typer.Exit(SOME_REJECTED)


def info(store: StorePath) -> None:
    """Say what a store holds."""
    held = recrawl.info(recrawl.open(store))
    span = "none"
    if held.first_visit is not None and held.last_visit is not None:
        span = f"{units.show_time(held.first_visit)} to {units.show_time(held.last_visit)}"
    say(f"pages    {held.pages:,} on {units.count(held.hosts, 'host')}")
    say(f"visits   {held.visits:,}, {span}")
    say(f"changes  {held.changes:,} (detector: {held.detector})")
    say(f"failing  {units.count(held.failing, 'page')}")


@contextmanager
def _bar() -> Iterator[Callable[[int, int | None], None] | None]:
    """A progress bar on a terminal, none in a pipe."""
    if not err.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("reading", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
