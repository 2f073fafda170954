"""Connections to the DuckDB file of a store, and the lock of its one writer.

DuckDB lets either one writing process or many reading processes open a file. So each operation
opens the file, works, and closes it; it waits a little for the others. The right to write over
many operations is a lock of our own, which ends with its process.

The file may be somebody else's. So no SQL reaches a file, the network, an extension or a Python
variable: neither that of a view in the file nor that of a user.
"""

from __future__ import annotations

import errno
import logging
import os
import re
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

from recrawl.history import recovery

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)
DATABASE = "history.duckdb"
READER_WAIT_SECONDS = 60.0  #: for the writer's current batch
WRITER_WAIT_SECONDS = 3600.0  #: for readers; giving up would lose what was fetched
QUIET_WAIT_SECONDS = 5.0  #: before a warning says who is waited for; then after twice as long, …
SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "memory_limit": "320MiB",  # more goes to the folder history.duckdb.tmp while it is needed
    "threads": min(os.cpu_count() or 1, 4),  # each needs some of that memory
    "checkpoint_threshold": "1TiB",  # no checkpoint but ours: see `_close`
    "allowed_configs": ["TimeZone", "enable_progress_bar"],
    "lock_configuration": "true",
}
OURSELVES = "another DuckDB connection of this process"
_HOLDER = re.compile(r"held in (.+?) \(PID (\d+)\)")
_FULL = re.compile(
    "|".join(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
    + "|max_temp_directory_size"
)


class WriterLock:
    """The right to write to a store, from `acquire` to `release` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "writer.lock"
        self._held: weakref.finalize[[int], WriterLock] | None = None

    def acquire(self) -> None:
        if self._held is not None and self._held.alive:
            return
        try:
            # A link in a store of somebody else could lead to any file of this user.
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
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
        with suppress(OSError):  # a full disk: others are not told who writes
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
    except duckdb.Error as error:
        raise _failure(folder / DATABASE, error, write=write) from error
    finally:
        _close(connection, folder / name, write=write)


def _close(connection: duckdb.DuckDBPyConnection, path: Path, *, write: bool) -> None:
    """Close a connection; DuckDB then makes a checkpoint, which a power loss may interrupt.

    Without room for it, what is committed stays in the log until a later checkpoint.
    """
    written = write and recovery.log_file(path).exists()
    try:
        with suppress(duckdb.Error, OSError):
            if written:
                recovery.save_blocks(connection, path)
    finally:
        with suppress(duckdb.Error):
            connection.close()
    if written:
        recovery.drop_saved(path)


def _failure(path: Path, error: duckdb.Error, *, write: bool) -> StoreError:
    """What an operation that failed tells the user."""
    if _FULL.search(str(error)):
        return disk_full(path.parent, error)
    if isinstance(error, duckdb.FatalException | duckdb.SerializationException):
        return _invalid(path, error)
    if "orrupt" in str(error):
        return _invalid(path, error)
    did = "written; what was acknowledged before is intact" if write else "read"
    return StoreError(f"The store {path.parent} could not be {did}: {error}")


def disk_full(folder: Path, error: Exception) -> StoreError:
    """What to say and do when there is no room for what a store has to write."""
    return StoreError(
        f"The disk of the store {folder} is full, or a quota on it is used up. This operation "
        "wrote nothing; what was acknowledged before is intact. Make room there, then do it again. "
        f"({error})"
    )


def _invalid(path: Path, error: duckdb.Error) -> StoreInvalid:
    return StoreInvalid(
        f"{path} is not a readable store: {error} Nothing was touched. "
        "If it was damaged, restore it from a copy."
    )


def _open(path: Path, *, write: bool) -> duckdb.DuckDBPyConnection:
    # In a path that is not absolute, DuckDB takes `md:` or `s3:` for a server.
    path = Path(os.path.abspath(path))  # noqa: PTH100  # links stay: `resolve` follows them
    wait = WRITER_WAIT_SECONDS if write else READER_WAIT_SECONDS
    begin, quiet = time.monotonic(), QUIET_WAIT_SECONDS
    while True:
        recovery.restore_blocks(path)
        state = recovery.log_state(path)
        try:
            return duckdb.connect(str(path), read_only=not write, config=SETTINGS)
        except duckdb.Error as error:
            if _FULL.search(str(error)):
                raise disk_full(path.parent, error) from error
            holder = _holder(error)
            if holder is None:
                if not recovery.cut_log(path, error, state):
                    raise _invalid(path, error) from error
                holder = "a process that recovers it"
            if holder == OURSELVES:  # perhaps the caller itself: no use in waiting for long
                wait = READER_WAIT_SECONDS
            waited = time.monotonic() - begin
            if waited > wait:
                raise StoreBusy(
                    f"The store {path.parent} stayed busy for {wait:.0f} s: {holder} has its file "
                    "open. Wait for it to end, or stop it."
                ) from error
            if waited > quiet:
                quiet *= 2.0
                log.warning(
                    "%s waits for %s, which has the file open. It gives up after %.0f s.",
                    path,
                    holder,
                    wait,
                )
        time.sleep(0.005 if write else 0.02)  # readers come and go; a writer must find a gap


def _holder(error: duckdb.Error) -> str | None:
    """Who has the file open, so that it cannot be opened now; None if the error is another one."""
    if "different configuration" in str(error):
        return OURSELVES
    if "Could not set lock" not in str(error):
        return None
    named = _HOLDER.search(str(error))
    return f"process {named[2]} ({named[1]})" if named else "another process"
