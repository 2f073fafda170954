"""The table `moved`: where each page leads, by its last redirect or canonical URL."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from recrawl import urls
from recrawl.errors import BadUrl
from recrawl.history.arrow import kept, values

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def record(connection: Connection, visits: pa.Table) -> None:
    """Update where pages lead by what these visits (sorted by page and time) say.

    `pages` must not hold them yet: a late visit does not replace what a later one said.
    """
    leading = kept(visits, values(visits["leads_to"].is_valid()))
    last: dict[int, tuple[Any, str]] = {}
    for page, at, url in zip(
        *(leading[name].to_pylist() for name in ("page_id", "at", "leads_to")), strict=True
    ):
        with suppress(BadUrl):
            last[page] = at, urls.canonical(url)
    if not last:
        return
    times, targets = zip(*last.values(), strict=True)
    columns = {"page_id": list(last), "at": pa.array(times, pa.timestamp("us")), "target": targets}
    connection.register("led", pa.table(columns))
    connection.execute(_FORGET)
    connection.execute(_ADD)
    connection.unregister("led")


_FORGET = """
DELETE FROM moved WHERE page_id IN (
    SELECT page_id FROM led JOIN pages USING (page_id) WHERE last_attempt <= led.at)
"""
_ADD = "INSERT INTO moved SELECT page_id, target FROM led ANTI JOIN moved USING (page_id)"
