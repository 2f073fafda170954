"""How do crawl files become visits in a store?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any, Protocol

from recrawl import units
from recrawl.ingest.crawl_files import CrawlFiles
from recrawl.ingest.source import FileSource
from recrawl.public import public
from recrawl.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import pyarrow as pa

    from recrawl.ingest.crawl_files import CrawlFile
    from recrawl.model import Time


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


@public
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


@public
@dataclass(frozen=True, repr=False)
class Report(Results):
    """What became of all files together. Iterating gives a row for each file."""

    records: int  #: seen, the rejected included
    added: int  #: visits that are new to the store
    known: int  #: visits that it had
    pages: int  #: pages that are new to the store
    rejected: int
    flips: int
    files: tuple[FileReport, ...]

    def _rows(self) -> list[dict[str, Any]]:
        return [asdict(file) for file in self.files]

    def __str__(self) -> str:
        return (
            f"{units.count(self.added, 'visit')} added, {self.known:,} already known, "
            f"{units.count(self.pages, 'new page')}, {self.flips:,} gone or back, "
            f"{self.rejected:,} rejected."
        )

    def __repr__(self) -> str:
        return f"<Report: {self}>"


def ingest(
    store: Store,
    files: CrawlFiles | Iterable[str | Path],
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
    if not isinstance(files, CrawlFiles):
        with CrawlFiles(files, format) as recognised:
            return ingest(store, recognised, now=now, rejects=rejects, progress=progress)
    files.progress = progress
    return _total([_one(store, file, FileSource(file.path, now, rejects)) for file in files])


def _one(store: Store, file: CrawlFile, source: FileSource) -> FileReport:
    added = known = pages = flips = 0
    stream = file.open()
    for table in source.tables(file.reader, stream):
        if len(table):
            result = store.append(table, now=source.now)
            added, known = added + result.added, known + result.known
            pages, flips = pages + result.pages, flips + result.flips
    return FileReport(
        file=file.path,
        format=file.reader.name if file.reader else None,
        records=source.records,
        added=added,
        known=known,
        pages=pages,
        rejected=source.rejected,
        flips=flips,
        problem=source.problem,
        examples=tuple(source.examples),
    )


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
