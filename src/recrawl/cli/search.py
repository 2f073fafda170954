"""The command that searches our copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import recrawl
from recrawl import units
from recrawl.cli.common import Now, StorePath, clock, err, say, show

if TYPE_CHECKING:
    from recrawl.search.index import IndexUpdate


def search(
    store: StorePath,
    query: Annotated[str, typer.Argument(metavar="WORDS", help="The page must hold all of them.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum of pages.")] = 10,
    now: Now = None,
) -> None:
    """Search the copies of a store, best first, with their age."""
    from recrawl.model import DAY

    pages = recrawl.search(recrawl.open(store), query, limit, updated=_print_update)
    if not pages:
        say("No page holds all of these words.", err)
        return
    at = clock(now)
    rows = [
        (
            f"{page.score:.2f}",
            units.show_days(max(at - page.at, 0.0) / DAY),
            page.title,
            page.url,
        )
        for page in pages
    ]
    show("score", "age", "title", "page", rows=rows)


def _print_update(done: IndexUpdate) -> None:
    if done.indexed or done.removed:
        gone = f", {len(done.removed):,} removed" if done.removed else ""
        say(f"{units.count(len(done.indexed), 'page')} indexed{gone}.", err)
