"""Files that are written whole or not at all, and files that only this user can have written."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from shutil import copymode
from tokenize import TokenError
from typing import IO, TYPE_CHECKING
from zipfile import BadZipFile

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY_BYTES = 32

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
        with new.open("w+b") as file:
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
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Return when the names of the files in a folder are on disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def signed_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, as `whole_file`; it ends with a signature by a key of this user.

    The signature holds for this path only.
    """
    key = _signing_key()
    with whole_file(path) as file:
        yield file
        size = file.seek(0, os.SEEK_END)
        file.write(_signature(file, size, path, key))


@contextmanager
def verified_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that `signed_file` wrote, to read; raises ValueError if anything else wrote to it."""
    with path.open("rb") as file:
        size = max(file.seek(0, os.SEEK_END) - KEY_BYTES, 0)
        expected = _signature(file, size, path, _signing_key())
        if not hmac.compare_digest(file.read(), expected):
            raise ValueError("this user did not write it in this folder, or it was changed since")
        file.seek(0)
        yield file


def _signature(file: IO[bytes], size: int, path: Path, key: bytes) -> bytes:
    """The signature of the first `size` bytes; the file is then read up to there."""
    digest = hmac.new(key, os.fsencode(path.resolve()) + b"\0", hashlib.sha256)
    file.seek(0)
    while size:
        block = file.read(min(size, 2**20))
        if not block:
            raise EOFError("it was cut while it was read")
        digest.update(block)
        size -= len(block)
    return digest.digest()


def _signing_key() -> bytes:
    """The key of this user, made at its first use; raises OSError if it cannot be kept."""
    try:
        state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    except RuntimeError as error:
        raise OSError(f"this user has no home folder for a key: {error}") from error
    path = state / "recrawl" / "key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = path.with_name(f"key.{os.getpid()}.new")
        new.touch(mode=0o600)
        try:
            new.write_bytes(secrets.token_bytes(KEY_BYTES))
            os.link(new, path)  # unlike `replace`, it keeps the key that another process made
        except FileExistsError:
            pass
        finally:
            new.unlink(missing_ok=True)
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise OSError(f"the key {path} must have {KEY_BYTES} bytes; remove it, and one is made")
    return key
