"""How do crawl files become visits in a store?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from recrawl import registry
from recrawl.errors import BadInput
from recrawl.ingest.sniff import reader_of
from recrawl.ingest.source import FileSource
from recrawl.ingest.stream import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa

    from recrawl.model import Time
    from recrawl.protocols import Reader


class Appended(Protocol):
    """What a store says of the visits it was given."""

    @property
    def added(self) -> int: ...
    @property
    def known(self) -> int: ...
    @property
    def pages(self) -> int: ...
    @property
    def flips(self) -> int: ...


class Store(Protocol):
    """Where visits go."""

    def append(self, visits: pa.Table, *, now: Time | None = None) -> Appended: ...


@dataclass(frozen=True)
class FileReport:
    """What became of one file."""

    file: str
    format: str | None  #: none: the file is empty
    records: int = 0
    added: int = 0
    known: int = 0
    pages: int = 0
    rejected: int = 0
    flips: int = 0
    problem: str | None = None  #: why it could not be read, or not to its end
    examples: tuple[str, ...] = ()  #: the first few rejects, with their reasons


@dataclass(frozen=True)
class Report:
    """What became of all files together."""

    records: int  #: seen, the rejected included
    added: int  #: visits that are new to the store
    known: int  #: visits that it had
    pages: int  #: pages that are new to the store
    rejected: int
    flips: int
    files: tuple[FileReport, ...]


def ingest(
    store: Store,
    files: Iterable[str | Path],
    *,
    now: Time,
    format: str | None = None,  # noqa: A002 - the word people use
    rejects: IO[str] | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Report:
    """Read crawl files (`-`: standard input) into a store; what is malformed is told, not fatal.

    A malformed record, or a file that is not what it should be, is written to `rejects` as one
    line of JSON. Only a file of unknown format, or that is not there, stops the run before
    anything is stored.
    """
    paths = [str(file) for file in files]
    chosen = recognise(paths, format)
    count = _counter(paths, progress)
    done = [_one(store, FileSource(path, now, rejects), chosen, count) for path in paths]
    return _total(done)


def recognise(files: Iterable[str | Path], format: str | None = None) -> Reader | None:  # noqa: A002
    """Refuse files that cannot be read or are of no known format; the reader named, if any."""
    chosen: Reader | None = registry.make("reader", format) if format else None
    for path in map(str, files):
        if path != "-" and (Path(path).is_dir() or not Path(path).exists()):
            raise BadInput(f"FILE must be a file, or - for standard input. Got {path!r}.")
        if chosen is None and Path(path).is_file():  # a pipe can be opened once only
            with opened(path) as stream:
                reader_of(stream, path)
    return chosen


def _one(
    store: Store, source: FileSource, chosen: Reader | None, count: Callable[[int], None]
) -> FileReport:
    added = known = pages = flips = 0
    with opened(source.filename, count) as stream:
        reader = chosen or reader_of(stream, source.filename)
        for table in source.tables(reader, stream):
            if len(table):
                said = store.append(table, now=source.now)
                added, known = added + said.added, known + said.known
                pages, flips = pages + said.pages, flips + said.flips
    return FileReport(
        file=source.filename,
        format=reader.name if reader else None,
        records=source.records,
        added=added,
        known=known,
        pages=pages,
        rejected=source.rejected,
        flips=flips,
        problem=source.problem,
        examples=tuple(source.examples),
    )


def _counter(
    paths: list[str], progress: Callable[[int, int | None], None] | None
) -> Callable[[int], None]:
    """Adds up the bytes read, packed, over all files."""
    if progress is None:
        return lambda _: None
    known = all(Path(path).is_file() for path in paths)
    total = sum(Path(path).stat().st_size for path in paths) if known else None
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        progress(done, total)

    return count


def _total(files: list[FileReport]) -> Report:
    return Report(
        records=sum(f.records for f in files),
        added=sum(f.added for f in files),
        known=sum(f.known for f in files),
        pages=sum(f.pages for f in files),
        rejected=sum(f.rejected for f in files),
        flips=sum(f.flips for f in files),
        files=tuple(files),
    )
