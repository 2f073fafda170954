"""Rows → tables, and small tables → tables large enough for a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from recrawl.ingest.file_stream import CutShort
from recrawl.page.visit_rows import visit_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recrawl.page.visit_rows import Row

MAX_TABLE_ROWS = 500_000
MAX_TABLE_BYTES = 128 << 20  #: about, in memory
# Rows are Python objects, which take much memory: they become columns in small batches, while
# their text still is in the processor's cache.
_MAX_BATCH_ROWS = 5_000
_MAX_BATCH_CHARACTERS = 1 << 20
_LINK_CHARACTERS = 64  # a link counts as so much text


def tables(rows: Iterable[Row]) -> Iterator[pa.Table]:
    """The rows as small tables; rows read before `CutShort` are kept."""
    batch: list[Row] = []
    characters = 0
    try:
        for row in rows:
            batch.append(row)
            characters += len(row.get("text") or "")
            characters += _LINK_CHARACTERS * len(row.get("links") or ())
            if len(batch) >= _MAX_BATCH_ROWS or characters >= _MAX_BATCH_CHARACTERS:
                yield visit_table(batch)
                batch, characters = [], 0
    except CutShort:
        if batch:
            yield visit_table(batch)
        raise
    if batch:
        yield visit_table(batch)


def concatenated(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The tables joined up to the largest allowed size, so that a store is called seldom."""
    batch: list[pa.Table] = []
    rows = n_bytes = 0
    try:
        for table in tables:
            too_large = rows + len(table) > MAX_TABLE_ROWS
            if batch and (too_large or n_bytes + table.nbytes > MAX_TABLE_BYTES):
                yield pa.concat_tables(batch)
                batch, rows, n_bytes = [], 0, 0
            batch.append(table)
            rows, n_bytes = rows + len(table), n_bytes + table.nbytes
    except CutShort:
        if batch:
            yield pa.concat_tables(batch)
        raise
    if batch:
        yield pa.concat_tables(batch)
