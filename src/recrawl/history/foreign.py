"""Refuses a store that recrawl cannot have written: other tables, or impossible values.

A store may come from somebody else. Its columns index arrays in compiled code, so what is loaded is
checked first.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from recrawl.errors import StoreInvalid

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from recrawl.model import IntArray

LAST_SECOND = 253_402_300_800.0  #: the end of the year 9999
PAGE_TIMES = ("first_seen", "first_visit", "last_visit", "last_attempt", "last_change")
#: What a store has besides tables, if somebody else put it there.
_OTHERS = """
SELECT 'view ' || view_name FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT 'macro ' || function_name FROM duckdb_functions() WHERE NOT internal
UNION ALL SELECT 'index ' || index_name FROM duckdb_indexes()
UNION ALL SELECT 'trigger ' || trigger_name FROM duckdb_triggers()
UNION ALL SELECT 'sequence ' || sequence_name FROM duckdb_sequences()
UNION ALL SELECT 'type ' || type_name FROM duckdb_types() WHERE NOT internal
UNION ALL SELECT 'schema ' || schema_name FROM duckdb_schemas() WHERE NOT internal
"""
_COLUMNS = """
SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal
ORDER BY table_name, column_index
"""
_DEFAULT_NUMBER = re.compile(r" DEFAULT\(-?[0-9.]+\)")  # it calls nothing

Tables = dict[str, dict[str, str]]  #: the type of each column of each table


def schema() -> str:
    """The SQL that makes the tables of a store: the one definition of them."""
    return files(__package__).joinpath("schema.sql").read_text()


def check_tables(connection: duckdb.DuckDBPyConnection, path: Path, *, older: bool) -> None:
    """Raise StoreInvalid unless there are the tables of `schema`, plain ones, and nothing else.

    An older store may lack some tables and columns.
    """
    for (name,) in connection.execute(_OTHERS).fetchall():
        raise _foreign(path, f"It has the {name}")
    found, (expected, _) = _tables(connection), _expected()
    for table, columns in found.items():
        for column, kind in columns.items():
            if expected.get(table, {}).get(column) != kind:
                raise _foreign(path, f"It has the column {table}.{column} of type {kind}")
    missing = [
        f"{table}.{column}"
        for table, columns in expected.items()
        for column in columns
        if column not in found.get(table, {})
    ]
    if missing and not older:
        raise _foreign(path, f"It lacks the column {missing[0]}")
    plain = _plain(found)
    for table, written in _described(connection).items():
        if _DEFAULT_NUMBER.sub("", written) != plain[table]:
            raise _foreign(path, f"Its table {table} is made by {written!r}")


def _foreign(path: Path, what: str) -> StoreInvalid:
    return StoreInvalid(
        f"{path} is not a store as recrawl makes it. {what}, which no store has. Nothing was "
        "touched. If that is yours, keep it in a file of its own and drop it here, with a DuckDB "
        "client; else do not use this store."
    )


def _tables(connection: duckdb.DuckDBPyConnection) -> Tables:
    tables: Tables = {}
    for table, column, kind in connection.execute(_COLUMNS).fetchall():
        tables.setdefault(table, {})[column] = kind
    return tables


@cache
def _expected() -> tuple[Tables, dict[str, str]]:
    """The tables of `schema`, and how DuckDB describes each."""
    with duckdb.connect(":memory:") as connection:
        connection.execute(schema())
        return _tables(connection), _described(connection)


def _plain(found: Tables) -> dict[str, str]:
    """How DuckDB describes plain tables of these columns; their names and types are known ones."""
    expected, described = _expected()
    if {t: list(c) for t, c in found.items()} == {t: list(c) for t, c in expected.items()}:
        return described
    with duckdb.connect(":memory:") as connection:  # an upgrade adds its columns at the end
        for table, columns in found.items():
            listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
            connection.execute(f'CREATE TABLE "{table}" ({listed})')
        return _described(connection)


def _described(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    return dict(connection.execute("SELECT table_name, sql FROM duckdb_tables()").fetchall())


def require(rule: str, *holds: Any) -> None:
    """Raise StoreInvalid with a rule that a column of a store breaks."""
    if not all(np.all(each) for each in holds):
        raise StoreInvalid(
            f"The store is damaged, or recrawl did not write it: {rule}. Nothing was touched; "
            "restore it from a copy, or do not use it."
        )


def check_pages(columns: Mapping[str, Any], n_hosts: int, n_visits: int) -> None:
    """Check the columns of all pages, in the order of ids, as DuckDB returns them."""
    for name, column in columns.items():
        if column.dtype.kind in "iu":
            require(f"pages.{name} must be filled", ~np.ma.getmaskarray(column))
            require(f"pages.{name} must be 0 or more", np.ma.getdata(column) >= 0)
    ids = np.ma.getdata(columns["page_id"])
    require("pages.page_id must be 0, 1, 2, …", ids == np.arange(len(ids)))
    hosts = [np.ma.getdata(columns[name]) < n_hosts for name in ("host", "site")]
    require("pages.host_id and hosts.site_id must be ids of hosts", *hosts)
    visits, compared, changes = (
        np.ma.getdata(columns[name]) for name in ("n_visits", "n_compared", "n_changes")
    )
    require(
        "pages must have no more changes than compared visits, and no more of these than visits",
        changes <= compared,
        compared <= visits,
        visits.sum(dtype=np.int64) <= n_visits,
    )
    exposure = np.ma.filled(columns["exposure"], np.nan)
    require("pages.exposure must be 0 or more", exposure >= 0.0, exposure < np.inf)
    require("pages.first_seen must be filled", ~np.isnan(columns["first_seen"]))
    for name in PAGE_TIMES:
        check_times(f"pages.{name}", columns[name])


def check_times(name: str, seconds: Any) -> None:
    """Check times; NaN is none."""
    known = seconds[~np.isnan(seconds)]
    require(f"{name} must be from 1970 to 9999", known >= 0.0, known < LAST_SECOND)


def check_intervals(columns: Mapping[str, Any]) -> None:
    """Check what compared visits showed, as DuckDB returns it."""
    at, days = (np.ma.filled(columns[name], np.nan) for name in ("at", "days"))
    require("visits.at must be filled", ~np.isnan(at))
    check_times("visits.at", at)
    require("visits.days must be 0 or more", days >= 0.0, days < np.inf)
    require("visits.changed must be filled with days", ~np.ma.getmaskarray(columns["changed"]))
    for name in ("new_internal", "new_external", "links"):
        require(f"visits: {name} must be 0 or more", ~(columns[name] < 0.0))


def check_ids(stored: IntArray, page_id: IntArray) -> None:
    """Check that a table has each of these pages once, in their order."""
    require("pages must hold each page once", np.array_equal(stored, page_id))
