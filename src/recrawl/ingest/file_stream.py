"""Where do the bytes of a file come from: disk or standard input, packed or plain?"""

from __future__ import annotations

import io
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import pyarrow as pa

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD = 64 << 10  #: bytes a reader may look at to know its format
_PIECE = 64 << 10


class CutShort(OSError):
    """The packed data end, or stop making sense, before their end mark."""


def _first(held: bytes, size: int) -> bytes:
    return held[:size] if size >= 0 else held


class Tap(io.RawIOBase):
    """Bytes that can be looked at before they are read, and are counted as they are."""

    def __init__(self, file: Any, count: Callable[[int], None] = lambda _: None) -> None:
        self._file = file
        self._count = count
        self._held = b""
        self._late: CutShort | None = None

    def peek(self, size: int) -> bytes:
        while len(self._held) < size and self._late is None:
            try:
                more = self._file.read(size - len(self._held))
            except CutShort as cut:
                self._late = cut  # what came before it is still to be read
                break
            if not more:
                break
            self._held += more
        return self._held

    def read(self, size: int = -1) -> bytes:
        if not self._held and self._late is not None:
            raise self._late
        piece: bytes = _first(self._held, size) or self._file.read(size) or b""
        self._held = self._held[len(piece) :]
        self._count(len(piece))
        return piece

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == io.SEEK_CUR:
            offset, whence = self.tell() + offset, io.SEEK_SET
        self._held = b""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell()) - len(self._held)


class _Unpacked(io.RawIOBase):
    """The pieces of an unpacker as one stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def read(self, size: int = -1) -> bytes:
        while not self._held:
            try:
                self._held = next(self._pieces)
            except StopIteration:
                return b""
        piece = _first(self._held, size)
        self._held = self._held[len(piece) :]
        return piece

    def readable(self) -> bool:
        return True


def _gunzip(packed: Tap) -> Iterator[bytes]:
    """Not `gzip` nor Arrow: both drop what they had unpacked when they meet the cut."""
    unpack, fed = zlib.decompressobj(31), False
    while block := packed.read(_PIECE):
        while block:
            try:
                yield unpack.decompress(block, 16 * _PIECE)
            except zlib.error as error:
                raise CutShort(f"The gzip data are damaged: {error}.") from error
            block, fed = unpack.unconsumed_tail, True
            if unpack.eof:  # another member may follow, after padding
                block, fed = unpack.unused_data.lstrip(b"\0"), False
                unpack = zlib.decompressobj(31)
    if fed:
        raise CutShort("The gzip data end early.")


def _unzstd(packed: Tap) -> Iterator[bytes]:
    """Small reads, since Arrow drops the read in which it meets the cut."""
    plain = pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd")
    while True:
        try:
            piece = plain.read(1024)
        except OSError as error:
            raise CutShort(f"The zstd data are damaged or end early: {error}.") from error
        if not piece:
            return
        yield piece


_PACKED = {b"\x1f\x8b": _gunzip, b"\x28\xb5\x2f\xfd": _unzstd}


def plain(raw: Tap) -> Tap:
    """The same bytes unpacked, by what they begin with and not by the file's name."""
    head = raw.peek(4)
    for magic, unpack in _PACKED.items():
        if head.startswith(magic):
            return Tap(_Unpacked(unpack(raw)))
    return raw


@contextmanager
def opened(path: str, count: Callable[[int], None] = lambda _: None) -> Iterator[Tap]:
    """A file by path, or standard input by `-`."""
    if path == "-":
        yield plain(Tap(sys.stdin.buffer, count))
        return
    try:
        file: IO[bytes] = Path(path).open("rb")  # noqa: SIM115 - only opening it may fail so
    except OSError as error:
        raise BadInput(
            f"Cannot read the file {path!r}: {error.strerror}. Check its name."
        ) from error
    with file:
        yield plain(Tap(cast("io.RawIOBase", file), count))
