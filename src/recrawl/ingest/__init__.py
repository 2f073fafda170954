"""Crawl files → visits in a store."""

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


class VisitStore(Protocol):
    """Where visits are stored."""

    def append(self, visits: pa.Table, *, now: Time | None = None) -> Any:
        """Counts of this batch, as `IngestReport` has them: added, known, pages, flips."""


@public
@dataclass(frozen=True)
class FileReport:
    """The result for one file; for the counts see `IngestReport`."""

    file: str
    format: str | None  #: None: the file is empty
    records: int
    added: int
    known: int
    pages: int
    rejected: int
    flips: int
    problem: str | None  #: why the file could not be read, or not to its end
    examples: tuple[str, ...]  #: the first few rejected records, with reasons


@public
@dataclass(frozen=True, repr=False)
class IngestReport(Results):
    """The result for all files together. Iterating gives a row for each file."""

    records: int  #: read, including the rejected ones
    added: int  #: visits that are new to the store
    known: int  #: visits that the store already had
    pages: int  #: pages that are new to the store
    rejected: int  #: malformed records
    flips: int  #: visits that found a page gone, or back again
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
        return f"<IngestReport: {self}>"


def ingest(
    store: VisitStore,
    files: CrawlFiles | Iterable[str | Path],
    *,
    now: Time,
    format: str | None = None,  # noqa: A002 - the word people use
    rejects: IO[str] | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> IngestReport:
    """Add the visits of crawl files (`-`: standard input) to a store.

    Malformed records do not stop the run: each is written to `rejects` as one line of JSON. A
    file that is missing or of unknown format raises `BadInput` before anything is stored.
    `progress` is called with the bytes read and the total, which is None for pipes.
    """
    if not isinstance(files, CrawlFiles):
        with CrawlFiles(files, format) as recognised:
            return ingest(store, recognised, now=now, rejects=rejects, progress=progress)
    files.progress = progress
    reports = [_ingest_file(store, file, FileSource(file.path, now, rejects)) for file in files]
    names = ("records", "added", "known", "pages", "rejected", "flips")
    totals = {name: sum(getattr(report, name) for report in reports) for name in names}
    return IngestReport(**totals, files=tuple(reports))


def _ingest_file(store: VisitStore, file: CrawlFile, source: FileSource) -> FileReport:
    counts = {"added": 0, "known": 0, "pages": 0, "flips": 0}
    stream = file.open()
    for table in source.tables(file.reader, stream):
        if len(table):
            result = store.append(table, now=source.now)
            counts = {name: count + getattr(result, name) for name, count in counts.items()}
    return FileReport(
        file=file.path,
        format=file.reader.name if file.reader else None,
        records=source.records,
        rejected=source.rejected,
        problem=source.problem,
        examples=tuple(source.examples),
        **counts,
    )
