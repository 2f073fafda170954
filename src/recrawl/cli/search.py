"""The command that searches our copies."""

from __future__ import annotations

from typing import Annotated

import typer

import recrawl
from recrawl import units
from recrawl.cli.common import Now, StorePath, clock, err, say, show
from recrawl.model import DAY


def search(
    store: StorePath,
    query: Annotated[str, typer.Argument(metavar="WORDS", help="All must be on the page.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Most pages to show.")] = 10,
    now: Now = None,
) -> None:
    """Search the copies of a store, best first, with their age."""
    from recrawl.search.index import SearchIndex

    index = SearchIndex(recrawl.open(store))
    done = index.update()
    if done.indexed or done.removed:
        gone = f", {len(done.removed):,} removed" if done.removed else ""
        say(f"{units.count(len(done.indexed), 'page')} indexed{gone}.", err)
    found = index.search(query, limit)
    if not found:
        say("No page holds all of these words.", err)
        return
    ages = [units.show_days(max(clock(now) - each.at, 0.0) / DAY) for each in found]
    rows = [
        (f"{each.score:.2f}", age, each.title, each.url)
        for each, age in zip(found, ages, strict=True)
    ]
    show("score", "age", "title", "page", rows=rows)
