"""Rows → tables, and small tables → tables large enough for a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from recrawl.ingest.file_stream import CutShort
from recrawl.page.visit_rows import visit_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recrawl.page.visit_rows import Row

Item = TypeVar("Item")

MAX_TABLE_ROWS = 500_000
MAX_TABLE_BYTES = 64 << 20  #: about, in memory; a store needs several times as much
# Rows are Python objects, which take much memory: they become columns in small batches, while
# their text still is in the processor's cache.
_MAX_BATCH_ROWS = 5_000
_MAX_BATCH_CHARACTERS = 1 << 20
_OVERHEAD = 64  # of a Python object, in bytes


def tables(rows: Iterable[Row]) -> Iterator[pa.Table]:
    """The rows as small tables."""
    return map(visit_table, _batches(rows, _row_size, _MAX_BATCH_ROWS, _MAX_BATCH_CHARACTERS))


def concatenated(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The tables joined to larger ones, so that a store is called seldom."""
    batches = _batches(tables, lambda t: (len(t), t.nbytes), MAX_TABLE_ROWS, MAX_TABLE_BYTES)
    return map(pa.concat_tables, batches)


def _row_size(row: Row) -> tuple[int, int]:
    links = row.get("links") or ()
    size = len(row["url"]) + len(row.get("text") or "") + len(row.get("title") or "")
    return 1, size + sum(map(len, links)) + _OVERHEAD * (len(row) + len(links))


def _batches(
    items: Iterable[Item], size: Callable[[Item], tuple[int, int]], max_rows: int, max_volume: int
) -> Iterator[list[Item]]:
    """The items in lists of limited size (rows, volume); those before `CutShort` are kept."""
    batch: list[Item] = []
    rows = volume = 0
    try:
        for item in items:
            more_rows, more_volume = size(item)
            if batch and (rows + more_rows > max_rows or volume + more_volume > max_volume):
                yield batch
                batch, rows, volume = [], 0, 0
            batch.append(item)
            rows, volume = rows + more_rows, volume + more_volume
    except CutShort:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
