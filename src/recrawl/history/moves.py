"""Which page does a page lead to? The last redirect or canonical URL of each: the table `moved`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection as Connection


def record(connection: Connection, led: pa.Table) -> None:
    """Enter that known pages (url) led to others (target), instead of what they led to before."""
    connection.execute(_CREATE)
    connection.register("led", led)
    connection.execute(_FORGET)
    connection.execute(_ADD)
    connection.unregister("led")


_CREATE = "CREATE TABLE IF NOT EXISTS moved (page_id INTEGER, target VARCHAR)"
_FORGET = "DELETE FROM moved WHERE page_id IN (SELECT page_id FROM led JOIN pages USING (url))"
_ADD = "INSERT INTO moved SELECT page_id, target FROM led JOIN pages USING (url)"
