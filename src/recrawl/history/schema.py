"""Creates, checks and upgrades the tables of a store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from recrawl.errors import StoreBusy, StoreError, StoreInvalid
from recrawl.files import replace
from recrawl.history import foreign
from recrawl.history.database import DATABASE, WriterLock, connect

if TYPE_CHECKING:
    from pathlib import Path

    from duckdb import DuckDBPyConnection

VERSION = 3
CREATION_SECONDS = 60.0  #: to wait for another process that creates the same store
_KEY = "recrawl schema"

# Stores of version 1 may lack the last two tables. In them a visit without a request was one that
# failed and has no `seconds`.
_FROM_1 = [
    "ALTER TABLE visits ADD COLUMN skipped BOOLEAN",
    "UPDATE visits SET skipped = true WHERE status = 0 AND seconds IS NULL",
    "CREATE TABLE IF NOT EXISTS moved (page_id INTEGER, target VARCHAR)",
    """CREATE TABLE IF NOT EXISTS signals (
        page_id INTEGER, kind VARCHAR, said TIMESTAMP, seen TIMESTAMP)""",
]
# Stores of version 2 do not say why visits failed, nor how retries fared.
_FROM_2 = [
    "ALTER TABLE visits ADD COLUMN problem VARCHAR",
    "ALTER TABLE pages ADD COLUMN failure UTINYINT",
    "ALTER TABLE pages ADD COLUMN retries INTEGER",
    "ALTER TABLE pages ADD COLUMN returns INTEGER",
    """UPDATE pages SET failure = coalesce(seen.failure, 0), retries = coalesce(seen.retries, 0),
        returns = coalesce(seen.returns, 0)
    FROM (SELECT page_id FROM pages) AS every LEFT JOIN (
        SELECT page_id, max_by(kind, "at") FILTER (kind > 0) AS failure,
               count(*) FILTER (was_failing) AS retries,
               count(*) FILTER (was_failing AND kind = 0) AS returns
        FROM (SELECT page_id, "at", kind,
                     lag(kind) OVER (PARTITION BY page_id ORDER BY "at") > 0 AS was_failing
              FROM (SELECT page_id, visits.at AS "at", CASE
                        WHEN status IS NULL OR status BETWEEN 200 AND 299 OR status = 304 THEN 0
                        WHEN status = 404 THEN 1 WHEN status = 410 THEN 2
                        WHEN status >= 500 OR status IN (408, 425, 429) THEN 4
                        WHEN status >= 400 THEN 3 WHEN status >= 300 THEN 8 ELSE 7 END AS kind
                    FROM visits))
        GROUP BY page_id) AS seen USING (page_id)
    WHERE pages.page_id = every.page_id""",
]
_UPGRADES = {1: _FROM_1, 2: _FROM_2}


def readable(columns: str, version: int) -> str:
    """A query over `pages` for an older store, which lacks some columns until its first write."""
    if version < 3:
        return columns.replace("failure, retries, returns", "0 failure, 0 retries, 0 returns")
    return columns


def create(path: Path, detector: str) -> None:
    """Create an empty store in a folder, whole or not at all, unless it has one by now."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = _lock_to_create(path)
        try:
            # Another process may have created the store, and written to it, before we had the lock.
            if not (path / DATABASE).exists():
                _create(path, detector)
        finally:
            lock.release()
    except OSError as error:
        raise StoreError(f"No store can be made at {path}: {error.strerror}.") from error


def _lock_to_create(path: Path) -> WriterLock:
    """The right to write, once nobody else has it, or no right if the store exists meanwhile."""
    lock, deadline = WriterLock(path), time.monotonic() + CREATION_SECONDS
    while not (path / DATABASE).exists():
        try:
            lock.acquire()
            break
        except StoreBusy:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)
    return lock


def _create(path: Path, detector: str) -> None:
    new = path / f"{DATABASE}.new"
    for left in (new, new.with_name(f"{new.name}.wal")):  # by a process that was killed
        left.unlink(missing_ok=True)
    with connect(path, write=True, name=new.name) as connection:
        connection.begin()
        connection.execute(foreign.schema())
        connection.execute(
            "INSERT INTO meta VALUES (?, ?), ('detector', ?)", [_KEY, str(VERSION), detector]
        )
        connection.commit()
        # Closing does it too, but says nothing if the disk is full.
        connection.execute("CHECKPOINT")
    replace(new, path / DATABASE)


def read(path: Path) -> tuple[str, int]:
    """The detector of a store, and the version of its tables."""
    with connect(path) as connection:
        meta = _meta(connection)
        version = meta.get(_KEY) or ""
        if version.isdecimal() and int(version) <= VERSION:
            older = int(version) < VERSION
            foreign.check_tables(connection, path / DATABASE, older=older)
    if not version:
        raise StoreInvalid(
            f"{path / DATABASE} is a DuckDB file but not a recrawl store. Nothing was touched; "
            "give another folder."
        )
    if not version.isdecimal() or "detector" not in meta:
        raise StoreInvalid(f"The table meta of {path / DATABASE} is damaged. Nothing was touched.")
    if int(version) > VERSION:
        raise StoreInvalid(
            f"The store {path} has schema {version}; this recrawl reads up to {VERSION}. "
            "Nothing was touched; upgrade recrawl."
        )
    return meta["detector"], int(version)


def _meta(connection: DuckDBPyConnection) -> dict[str, str]:
    """The table meta; empty if there is no such table. A view of that name is not read."""
    tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    if ("meta",) not in tables:
        return {}
    return dict(connection.execute("SELECT key::VARCHAR, value::VARCHAR FROM meta").fetchall())


def upgrade(path: Path) -> None:
    """Upgrade the tables of an older store; the caller holds the writer lock.

    Does nothing if another process has upgraded the store since it was opened.
    """
    with connect(path, write=True) as connection:
        connection.begin()
        [(version,)] = connection.execute("SELECT value FROM meta WHERE key = ?", [_KEY]).fetchall()
        for older in range(int(version), VERSION):
            for statement in _UPGRADES[older]:
                connection.execute(statement)
        connection.execute("UPDATE meta SET value = ? WHERE key = ?", [str(VERSION), _KEY])
        foreign.check_tables(connection, path / DATABASE, older=False)
        connection.commit()
