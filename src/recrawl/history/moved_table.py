"""The table `moved`: where each page leads, by its last redirect or canonical URL."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from recrawl import urls
from recrawl.errors import BadUrl
from recrawl.history.arrow import kept, values

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


def record(connection: Connection, visits: pa.Table) -> None:
    """Replace where pages lead by what these visits (sorted by page and time) say."""
    leading = kept(visits, values(visits["leads_to"].is_valid()))
    target: dict[int, str] = {}
    for page, url in zip(
        leading["page_id"].to_pylist(), leading["leads_to"].to_pylist(), strict=True
    ):
        with suppress(BadUrl):
            target[page] = urls.canonical(url)
    if not target:
        return
    columns = {"page_id": list(target), "target": list(target.values())}
    connection.register("led", pa.table(columns))
    connection.execute("DELETE FROM moved WHERE page_id IN (SELECT page_id FROM led)")
    connection.execute("INSERT INTO moved SELECT page_id, target FROM led")
    connection.unregister("led")
