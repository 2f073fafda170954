"""Recovers the DuckDB file of a store that lost power while it was written.

DuckDB 2.0 leaves two gaps, which `torture/power.py` found:

- A checkpoint overwrites blocks of metadata that the file still needs, before the new header is on
  disk. If such a write is torn, the checksum of the block is wrong and the file is lost.
  `save_blocks` keeps these blocks before a checkpoint, and `restore_blocks` puts them back.
- Bytes that were torn before the fsync of the log (`.wal`) count as damage, not as its end, and the
  file does not open. `cut_log` removes them: their transaction never ended.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import struct
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from recrawl.files import sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from duckdb import DuckDBPyConnection, Error

log = logging.getLogger(__name__)
HEADERS_BYTES = 3 * 4096  #: at the start of a DuckDB file; its blocks follow
_SIZES = struct.Struct("<qq")  # bytes of a block, number of blocks
_ENTRY = struct.Struct("<QQ")  # bytes of an entry of the log, its checksum
_TORN = re.compile(r"WAL file: entry at byte position (\d+) computed checksum")
# In a store of somebody else, a link could lead to any file, and a pipe never ends.
_AS_IT_IS = os.O_NOFOLLOW | os.O_NONBLOCK
_COMMIT = b"\x64\x00\x64"  # how an entry of the log begins that ends a transaction


def log_file(path: Path) -> Path:
    """DuckDB's write-ahead log: it holds what is committed and not yet in the database file."""
    return path.with_name(f"{path.name}.wal")


def saved_file(path: Path) -> Path:
    """The copy of the blocks that a checkpoint overwrites; there only during a checkpoint."""
    return path.with_name(f"{path.name}.saved")


def save_blocks(connection: DuckDBPyConnection, path: Path) -> None:
    """Keep the blocks that the next checkpoint of an open file may overwrite. Raises OSError."""
    file = _descriptor(path)
    if file is None:
        return
    [(size,)] = connection.execute("SELECT block_size FROM pragma_database_size()").fetchall()
    rows = connection.execute("SELECT block_id FROM pragma_metadata_info()").fetchall()
    blocks = {block: os.pread(file, size, HEADERS_BYTES + block * size) for (block,) in rows}
    blocks = {block: data for block, data in blocks.items() if len(data) == size}  # the old ones
    content = b"".join(
        [
            os.pread(file, HEADERS_BYTES, 0),
            _SIZES.pack(size, len(blocks)),
            struct.pack(f"<{len(blocks)}q", *blocks),
            *blocks.values(),
        ]
    )
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _AS_IT_IS
    with os.fdopen(os.open(saved_file(path), flags, 0o644), "wb") as saved:
        saved.write(hashlib.sha256(content).digest())
        saved.write(content)
        saved.flush()
        os.fsync(saved.fileno())
    sync_folder(path.parent)


def drop_saved(path: Path) -> None:
    """Remove what `save_blocks` kept, once the checkpoint is done."""
    if not log_file(path).exists():
        with suppress(OSError):
            saved_file(path).unlink()


def restore_blocks(path: Path) -> None:
    """Put back what a checkpoint overwrote if it did not end; nothing if the file is in use."""
    saved = saved_file(path)
    if not saved.is_file():
        return
    with suppress(OSError), _alone(path) as file:
        if file is None:
            return
        if n := sum(_put_back(file, *place) for place in _overwritten(saved, file)):
            os.fsync(file)
            log.warning("%s: a checkpoint was interrupted; %d blocks were put back.", path, n)
        saved.unlink()


def _overwritten(saved: Path, file: int) -> list[tuple[int, bytes]]:
    """Offsets and old content of the blocks, if the file still has the header that needs them."""
    with os.fdopen(os.open(saved, os.O_RDONLY | _AS_IT_IS), "rb") as opened:
        digest, content = opened.read(hashlib.sha256().digest_size), opened.read()
    if hashlib.sha256(content).digest() != digest:
        return []  # power was lost while it was written: the checkpoint had not begun
    headers, rest = content[:HEADERS_BYTES], content[HEADERS_BYTES:]
    if headers != os.pread(file, HEADERS_BYTES, 0):
        return []  # the checkpoint has ended
    end = os.fstat(file).st_size
    return [(o, b) for o, b in _blocks(rest) if HEADERS_BYTES <= o <= end - len(b)]


def _blocks(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Offsets in the file and bytes of the blocks that were saved."""
    try:
        size, n = _SIZES.unpack_from(content)
        numbers = struct.unpack_from(f"<{n}q", content, _SIZES.size)
    except struct.error:  # in a store of somebody else
        return
    first = _SIZES.size + 8 * n
    for i, number in enumerate(numbers):
        yield HEADERS_BYTES + number * size, content[first + i * size : first + (i + 1) * size]


def _put_back(file: int, offset: int, block: bytes) -> bool:
    if os.pread(file, len(block), offset) == block:
        return False
    os.pwrite(file, block, offset)
    return True


def log_state(path: Path) -> tuple[int, ...]:
    """What changes whenever somebody writes to the log; empty if there is no log."""
    with suppress(OSError):
        found = log_file(path).lstat()
        return found.st_ino, found.st_size, found.st_mtime_ns
    return ()


def cut_log(path: Path, error: Error, state: tuple[int, ...]) -> bool:
    """Remove the torn end of the log that `error` reports; returns whether to try again.

    `state` is that of the log before the error: another process may have done it meanwhile.
    """
    torn = _TORN.search(str(error))
    if torn is None:
        return False
    with suppress(OSError), _alone(path) as file:
        if file is None or log_state(path) != state:
            return True
        start = int(torn[1]) - _ENTRY.size
        with os.fdopen(os.open(log_file(path), os.O_RDWR | _AS_IT_IS), "r+b") as opened:
            opened.seek(start)
            tail = opened.read()
            if _has_later_commit(tail):
                return False
            opened.truncate(start)
            os.fsync(opened.fileno())
        log.warning("%s: %d bytes of a batch that was interrupted were removed.", path, len(tail))
        return True
    return False


def _has_later_commit(tail: bytes) -> bool:
    """Whether entries follow the transaction with the torn entry: then an fsync came after it.

    DuckDB syncs the log at the end of a transaction, so torn bytes can only be in the last one.
    """
    start, ended = 0, False
    while start + _ENTRY.size <= len(tail):
        if ended:
            return True
        size, _ = _ENTRY.unpack_from(tail, start)
        start += _ENTRY.size
        ended = tail.startswith(_COMMIT, start)
        start += size
    return False


@contextmanager
def _alone(path: Path) -> Iterator[int | None]:
    """A descriptor of a DuckDB file that nobody else can open; None if somebody has it open."""
    if _descriptor(path) is not None:  # closing another one would end DuckDB's lock
        yield None
        return
    file = os.open(path, os.O_RDWR | _AS_IT_IS)
    try:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as DuckDB does
        except OSError:
            yield None
        else:
            yield file
    finally:
        os.close(file)


def _descriptor(path: Path) -> int | None:
    """The descriptor by which DuckDB has a file open in this process.

    A process that opens a file a second time and closes that loses all its locks on it (POSIX).
    """
    wanted = path.stat()
    for name in os.listdir("/dev/fd"):  # noqa: PTH208
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(name)), wanted):
                return int(name)
    return None
