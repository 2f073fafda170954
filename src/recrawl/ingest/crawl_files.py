"""Which files are ingested, and in which format is each? Every file is opened once."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from recrawl import registry
from recrawl.errors import BadInput
from recrawl.ingest.file_stream import open_stream
from recrawl.ingest.sniff import reader_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recrawl.ingest.file_stream import PeekableStream
    from recrawl.protocols import Reader

MAX_OPEN_FILES = 64  #: an open packed file takes about a megabyte; further ones are opened twice


class CrawlFile:
    """One file to read, and the reader of its format."""

    def __init__(self, path: str, reader: Reader | None, count: Callable[[int], None]) -> None:
        self.path = path
        self.reader = reader  #: None until the file is open, and then for an empty file
        self._is_recognised = reader is not None
        self._count = count
        self._stream: PeekableStream | None = None
        self._open_file = ExitStack()

    def open(self) -> PeekableStream:
        """The unpacked bytes of the file, from its beginning. Sets `reader`."""
        if self._stream is None:
            self._stream = self._open_file.enter_context(open_stream(self.path, self._count))
        if not self._is_recognised:
            self.reader = reader_of(self._stream, self.path)
            self._is_recognised = True
        return self._stream

    def close(self) -> None:
        self._open_file.close()
        self._stream = None


class CrawlFiles:
    """The files of one ingest (`-`: standard input), in the order given.

    Entering it refuses a file that is not there and, unless `format` names the reader, one of
    unknown format. Pipes are opened when their turn comes: their writers may depend on that order.
    """

    def __init__(self, paths: Iterable[str | Path], format: str | None = None) -> None:  # noqa: A002
        reader = registry.make("reader", format) if format else None
        self.progress: Callable[[int, int | None], None] | None = None
        files = [_file_of_folder(path, reader) for path in map(str, paths)]
        self._files = [CrawlFile(path, reader, self._count) for path in files]
        self._bytes_read = 0  # packed
        self._total_bytes: int | None = None

    def __enter__(self) -> CrawlFiles:
        try:
            for file in self._files:
                _refuse_missing(file.path)
            paths = [Path(file.path) for file in self._files]
            if all(path.is_file() for path in paths):
                self._total_bytes = sum(path.stat().st_size for path in paths)
            self._recognise([file for file in self._files if Path(file.path).is_file()])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def __iter__(self) -> Iterator[CrawlFile]:
        """Each file in turn; it is closed before the next."""
        for file in self._files:
            with closing(file):
                yield file

    def _recognise(self, files: list[CrawlFile]) -> None:
        for i, file in enumerate(files):
            bytes_read = self._bytes_read
            if file.reader is None:
                file.open()
            if i >= MAX_OPEN_FILES:
                file.close()
                self._bytes_read = bytes_read  # they are read again

    def _count(self, n_bytes: int) -> None:
        self._bytes_read += n_bytes
        if self.progress is not None:
            self.progress(self._bytes_read, self._total_bytes)


def _file_of_folder(path: str, reader: Reader | None) -> str:
    """The file that a folder of a crawler is read from; the path itself if it is no such folder."""
    if path == "-" or not Path(path).is_dir():
        return path
    readers = [reader] if reader else [part() for part in registry.parts("reader").values()]
    names = [name for each in readers if (name := getattr(each, "folder_file", None))]
    held = [Path(path) / name for name in names if (Path(path) / name).is_file()]
    if len(held) != 1:
        rule = f"a folder that holds {' or '.join(names)}, " if names else ""
        raise BadInput(f"FILE must be a file, {rule}or - for standard input. Got {path!r}.")
    return str(held[0])


def _refuse_missing(path: str) -> None:
    if path != "-" and not Path(path).exists():
        raise BadInput(f"FILE must be a file, or - for standard input. Got {path!r}.")
