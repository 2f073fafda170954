"""Visits as rows, and rows as a table in the VISITS schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from recrawl.model import VISITS

#: Column of VISITS → value, for the columns that have one. Times are microseconds since 1970.
Row = dict[str, Any]


def visit_table(rows: list[Row]) -> pa.Table:
    """The rows as one table of visits."""
    used = set().union(*rows)
    return pa.table(
        [
            pa.array([row.get(f.name) for row in rows], f.type)
            if f.name in used
            else pa.nulls(len(rows), f.type)
            for f in VISITS
        ],
        schema=VISITS,
    )
