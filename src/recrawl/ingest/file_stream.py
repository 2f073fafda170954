"""The bytes of a file or of standard input, unpacked if they are gzip or zstd."""

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

HEAD_BYTES = 64 << 10  #: that a reader may look at to recognise its format
_GZIP_WBITS = 31  # zlib reads the header and trailer of gzip
_READ_BYTES = 64 << 10
_PIECE_BYTES = 256 << 10


class CutShort(OSError):
    """The packed data are damaged, or end before their end mark."""


class PeekableStream(io.RawIOBase):
    """A stream that can be looked at before it is read; `count` is called with the bytes read."""

    def __init__(self, file: Any, count: Callable[[int], None] = lambda _: None) -> None:
        self._file = file
        self._count = count
        self._held = b""
        self._cut: CutShort | None = None  # met by `peek`, to be raised by `read`

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, without reading them; fewer only at the end."""
        while len(self._held) < size and self._cut is None:
            try:
                more = self._file.read(size - len(self._held))
            except CutShort as cut:
                self._cut = cut
                break
            if not more:
                break
            self._held += more
        return self._held[:size]

    def read(self, size: int = -1) -> bytes:
        if not self._held and self._cut is not None:
            raise self._cut
        held: bytes = self._held or self._file.read(size) or b""
        piece = held[:size] if size >= 0 else held
        self._held = held[len(piece) :]
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


class _UnpackedPieces(io.RawIOBase):
    """The pieces that an unpacker yields, joined: a reader would be slow with small ones."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._cut: CutShort | None = None  # met after the pieces that were returned last

    def read(self, size: int = -1) -> bytes:  # noqa: ARG002
        """The next pieces, whatever size is asked for."""
        joined: list[bytes] = []
        n_bytes = 0
        while n_bytes < _PIECE_BYTES and self._cut is None:
            try:
                joined.append(next(self._pieces))
            except StopIteration:
                break
            except CutShort as cut:
                self._cut = cut
            else:
                n_bytes += len(joined[-1])
        if not n_bytes and self._cut is not None:
            raise self._cut
        return b"".join(joined)


def _gunzip(packed: PeekableStream) -> Iterator[bytes]:
    """Yield unpacked pieces up to the damage; the `gzip` module and Arrow lose the last ones."""
    unpack, in_member = zlib.decompressobj(_GZIP_WBITS), False
    while block := packed.read(_READ_BYTES):
        while block:
            try:
                yield unpack.decompress(block, 16 * _READ_BYTES)
            except zlib.error as error:
                raise CutShort(f"The gzip data are damaged: {error}.") from error
            block, in_member = unpack.unconsumed_tail, True
            if unpack.eof:  # another gzip member may follow, after padding
                block, in_member = unpack.unused_data.lstrip(b"\0"), False
                unpack = zlib.decompressobj(_GZIP_WBITS)
    if in_member:
        raise CutShort("The gzip data end early.")


def _unzstd(packed: PeekableStream) -> Iterator[bytes]:
    """Yield unpacked pieces. They are small: Arrow loses the one in which it meets a cut."""
    plain = pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd")
    while True:
        try:
            piece = plain.read(1024)
        except OSError as error:
            raise CutShort(f"The zstd data are damaged or end early: {error}.") from error
        if not piece:
            return
        yield piece


_UNPACKERS = {b"\x1f\x8b": _gunzip, b"\x28\xb5\x2f\xfd": _unzstd}


def unpacked(raw: PeekableStream) -> PeekableStream:
    """The stream itself, or its unpacked bytes if its first bytes are those of a packed file."""
    head = raw.peek(4)
    for magic, unpack in _UNPACKERS.items():
        if head.startswith(magic):
            return PeekableStream(_UnpackedPieces(unpack(raw)))
    return raw


@contextmanager
def open_stream(
    path: str, count: Callable[[int], None] = lambda _: None
) -> Iterator[PeekableStream]:
    """The unpacked bytes of a file, or of standard input for `-`."""
    if path == "-":
        yield unpacked(PeekableStream(sys.stdin.buffer, count))
        return
    try:
        file: IO[bytes] = Path(path).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise BadInput(
            f"Cannot read the file {path!r}: {error.strerror}. Check its name."
        ) from error
    with file:
        yield unpacked(PeekableStream(cast("io.RawIOBase", file), count))
