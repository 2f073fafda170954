"""WACZ: a zip file that holds web archives and their indexes."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, ClassVar, cast

from recrawl.errors import BadInput
from recrawl.ingest.file_stream import PeekableStream, unpacked
from recrawl.ingest.readers.warc import Warc

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.protocols import Source

_ARCHIVE = re.compile(r"archive/[^/]+\.warc(?:\.gz)?")
_NAMES = (b"datapackage.json", b"archive/", b"indexes/", b"pages/pages.jsonl")
_END = b"PK\x05\x06"  # the last record of a zip file
_END_BYTES = 22 + (1 << 16)  # with the longest comment
_MAX_LIST_BYTES = 16 << 20  # of the list of entries, which Python reads whole
_MAX_RATIO = 100  # of unpacked to packed bytes: an archive in it is packed already
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, ValueError)


class Wacz:
    """WACZ: the visits of all web archives in it, as the reader `warc` reads them."""

    name: ClassVar[str] = "wacz"

    def example(self) -> bytes:
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as file:
            for name, body in {
                "datapackage.json": b"{}",
                "archive/a.warc": Warc().example(),
            }.items():
                file.writestr(zipfile.ZipInfo(name), body)
        return sink.getvalue()

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return head.startswith(b"PK\x03\x04") and any(name in head for name in _NAMES)

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        if stream.seekable():
            yield from _archives(stream, source)
            return
        with tempfile.TemporaryFile() as copy:  # the list of entries is at the end
            shutil.copyfileobj(stream, copy)
            yield from _archives(copy, source)


def _archives(file: IO[bytes], source: Source) -> Iterator[pa.Table]:
    """The visits of each archive in the file. No name in it becomes a name on disk."""
    size = _size_with_a_list_that_fits(file, source)
    try:
        opened = zipfile.ZipFile(file)
    except _DAMAGED as error:
        raise _refused(source, f"is not a whole zip file: {error}") from error
    with opened:
        entries = [entry for entry in opened.infolist() if _ARCHIVE.fullmatch(entry.filename)]
        if not entries:
            raise _refused(source, "holds no archive/*.warc.gz")
        for entry in entries:
            size -= entry.compress_size
            if size < 0 or entry.file_size > _MAX_RATIO * entry.compress_size + (1 << 20):
                source.reject(entry.filename, "The entry unpacks to more than an archive would.")
                continue
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                source.reject(entry.filename, "The entry is packed neither as deflate nor at all.")
                continue
            try:
                with opened.open(entry) as packed:
                    stream = unpacked(PeekableStream(packed))
                    yield from Warc().read(cast("IO[bytes]", stream), source)
            except _DAMAGED as error:
                source.reject(entry.filename, f"The entry cannot be read to its end: {error}.")


def _size_with_a_list_that_fits(file: IO[bytes], source: Source) -> int:
    """The size of the file, if Python can read its list of entries without much memory."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - _END_BYTES, 0))
    tail = b""
    while piece := file.read(_END_BYTES):
        tail += piece
    end = tail.rfind(_END)
    if end >= 0 and int.from_bytes(tail[end + 12 : end + 16], "little") > _MAX_LIST_BYTES:
        raise _refused(source, "has too many entries")
    file.seek(0)
    return size


def _refused(source: Source, why: str) -> BadInput:
    return BadInput(f"The file {source.filename!r} {why}. Make it again, or give its WARC files.")
