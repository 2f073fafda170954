"""Connections to the DuckDB file of a store, and the lock of its one writer.

DuckDB lets either one writing process or many reading processes open a file. So each operation
opens the file, works, and closes it; it waits a little for the others. The right to write over
many operations is a lock of our own, which ends with its process.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from recrawl.errors import StoreBusy, StoreError, StoreInvalid

try:
    import fcntl
except ModuleNotFoundError as error:
    raise StoreError(
        "A store needs the file locks of Linux or macOS. Use WSL on Windows."
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterator

DATABASE = "history.duckdb"
READER_WAIT_SECONDS = 60.0  #: for the writer's current batch
WRITER_WAIT_SECONDS = 3600.0  #: for readers; giving up would lose what was fetched


class WriterLock:
    """The right to write to a store, from `acquire` to `release` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "writer.lock"
        self._held: weakref.finalize[[int], WriterLock] | None = None

    def acquire(self) -> None:
        if self._held is not None and self._held.alive:
            return
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened: {error.strerror}.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(file, 1000).decode(errors="replace").strip()
            os.close(file)
            raise StoreBusy(
                f"The store {self.path.parent} is being written by {holder or 'another process'}. "
                "Wait for it to end, or stop it; reading works meanwhile."
            ) from None
        command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:3]])
        os.truncate(file, 0)
        os.write(file, f"process {os.getpid()} ({command})".encode())
        # Closing releases the lock; so does garbage collection of a store that was not closed.
        self._held = weakref.finalize(self, os.close, file)

    def release(self) -> None:
        if self._held is not None:
            self._held()


@contextmanager
def connect(
    folder: Path, *, write: bool = False, name: str = DATABASE
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one operation."""
    connection = _open(folder / name, write=write)
    try:
        connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        yield connection
    except (duckdb.FatalException, duckdb.SerializationException) as error:
        raise _invalid(folder / DATABASE, error) from error
    except duckdb.Error as error:
        if "orrupt" in str(error):
            raise _invalid(folder / DATABASE, error) from error
        did = "written; what was acknowledged before is intact" if write else "read"
        raise StoreError(f"The store {folder} could not be {did}: {error}") from error
    finally:
        with suppress(duckdb.Error):
            connection.close()


def _invalid(path: Path, error: duckdb.Error) -> StoreInvalid:
    return StoreInvalid(
        f"{path} is not a readable store: {error} Nothing was touched. "
        "If it was damaged, restore it from a copy."
    )


def _open(path: Path, *, write: bool) -> duckdb.DuckDBPyConnection:
    wait = WRITER_WAIT_SECONDS if write else READER_WAIT_SECONDS
    deadline = time.monotonic() + wait
    while True:
        try:
            return duckdb.connect(str(path), read_only=not write)
        except duckdb.Error as error:
            if "Could not set lock" not in str(error):
                raise _invalid(path, error) from error
            if time.monotonic() > deadline:
                raise StoreBusy(
                    f"The store {path.parent} stayed busy for {wait:.0f} s: {error} "
                    "Wait for that process to end, or stop it."
                ) from error
        time.sleep(0.02)
