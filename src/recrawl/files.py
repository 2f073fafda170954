"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from shutil import copymode
from tokenize import TokenError
from typing import IO, TYPE_CHECKING
from zipfile import BadZipFile

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What reading a damaged .npz or JSON file may raise.
DAMAGED = (
    OSError, EOFError, ValueError, TypeError, LookupError, RuntimeError, MemoryError, TokenError,
    BadZipFile,
)  # fmt: skip


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to. It replaces `path` once it is on disk; after an error `path` stays.

    The target of a symbolic link is replaced, not the link. The new file has the permissions of
    the old one. Devices and pipes are written to.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    path = path.resolve()
    new = path.with_name(f"{path.name}.{os.getpid()}.new")  # another process may be writing too
    try:
        with new.open("wb") as file:
            yield file
            sync(file)
        if path.exists():
            copymode(path, new)
        replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def check_output(path: str | Path, option: str) -> None:
    """Refuse a file that could not be written, before the work whose result it is for."""
    path = Path(path)
    folder = path.resolve().parent
    if path.is_dir():
        raise BadInput(f"{option} must be a file. {path} is a folder; name a file in it.")
    if not folder.is_dir():
        raise BadInput(f"{option} must be in a folder that exists. {folder} does not; make it.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise BadInput(f"{option} must be a file that may be written. {path} may not.")


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with whole_file(path) as file:
        file.write(text.encode())


def sync(file: IO[bytes]) -> None:
    """Return when what was written to a file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def replace(new: Path, path: Path) -> None:
    """Put a finished file in the place of another in the same folder, so that it lasts."""
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
