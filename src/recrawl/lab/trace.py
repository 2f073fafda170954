"""What pages really were, from when: the truth that a replay answers from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq
import xxhash

from recrawl import units
from recrawl.errors import BadInput
from recrawl.lab.links import Links, LinksBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Time

COLUMNS = ("url", "valid_from", "status", "text", "links")
_WINDOW = re.compile(r"^Window: (\S+) \.\. (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Trace:
    """Versions of pages over a window; page i owns rows start[i] to start[i + 1]."""

    name: str
    urls: Sequence[str]  #: sorted
    start: IntArray
    valid_from: FloatArray
    status: NDArray[np.int16]
    content: KeyArray  #: equal for equal text and equal set of links
    links: Links  #: of each version
    window: tuple[Time, Time]

    def __len__(self) -> int:
        return len(self.urls)

    @cached_property
    def page(self) -> IntArray:
        """The page of each version."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def version_at(self, at: Time) -> NDArray[np.int64]:
        """The version of each page at a time; -1 before its first."""
        so_far = np.bincount(self.page, self.valid_from <= at, minlength=len(self)).astype(np.int64)
        return np.where(so_far > 0, self.start[:-1] + so_far - 1, -1)

    def alive(self) -> BoolArray:
        """Which pages were there throughout the window?"""
        begin, end = self.window
        there = self.version_at(begin) >= 0
        gone = (self.status != 200) & (self.valid_from <= end)
        gone &= np.arange(len(self.valid_from)) >= self.version_at(begin)[self.page]
        lost = np.bincount(self.page, gone, minlength=len(self)) > 0
        return np.logical_and(there, ~lost)

    def take(self, pages: BoolArray) -> Trace:
        """The same trace of some pages only."""
        versions = np.flatnonzero(pages[self.page])
        counts = np.diff(self.start)[pages]
        return Trace(
            name=self.name,
            urls=[url for url, kept in zip(self.urls, pages, strict=True) if kept],
            start=np.concatenate([[0], np.cumsum(counts)]),
            valid_from=self.valid_from[versions],
            status=self.status[versions],
            content=self.content[versions],
            links=self.links.take(versions),
            window=self.window,
        )


def read_trace(path: str | Path, window: tuple[Time, Time] | None = None) -> Trace:
    """A folder with versions.parquet and its window in a README, or such a Parquet file."""
    path = Path(path)
    file = path / "versions.parquet" if path.is_dir() else path
    if not file.is_file():
        raise BadInput(
            f"A trace must be a folder with versions.parquet, or such a file. Got {path}."
        )
    table = pq.ParquetFile(file)
    missing = [name for name in COLUMNS if name not in table.schema_arrow.names]
    if missing:
        raise BadInput(
            f"The trace {file} has no column {missing[0]!r}. It needs {', '.join(COLUMNS)}."
        )
    url, valid_from, status, content, links = _read(table)
    _check_order(url, valid_from, file)
    window = window or _window(file)
    _check_window(window, valid_from)
    first = np.flatnonzero(np.concatenate([[True], url[1:] != url[:-1]]))
    return Trace(
        name=path.stem if path.is_file() else path.name,
        urls=url[first].tolist(),
        start=np.append(first, len(url)),
        valid_from=valid_from,
        status=status,
        content=content,
        links=links,
        window=window,
    )


def _read(
    table: pq.ParquetFile,
) -> tuple[NDArray[np.object_], FloatArray, NDArray[np.int16], KeyArray, Links]:
    url: list[str] = []
    times, statuses, contents = [], [], []
    links = LinksBuilder()
    for batch in table.iter_batches(batch_size=1000, columns=list(COLUMNS)):
        names = batch["url"].to_pylist()
        added = links.add(names, batch["links"])
        url += names
        times.append(batch["valid_from"].cast("int64").to_numpy(zero_copy_only=False))
        statuses.append(batch["status"].to_numpy(zero_copy_only=False))
        contents.append(_contents(batch["text"], added))
    unit = {"ms": 1e3, "us": 1e6, "s": 1.0, "ns": 1e9}[
        table.schema_arrow.field("valid_from").type.unit
    ]
    return (
        np.array(url, dtype=object),
        np.concatenate(times) / unit,
        np.concatenate(statuses).astype(np.int16),
        np.concatenate(contents),
        links.done(),
    )


def _contents(text: pa.Array, links: Links) -> KeyArray:
    """One number for text and links together."""
    out = np.empty(len(text), np.uint64)
    for i, said in enumerate(text.to_pylist()):
        ids = links.target[links.start[i] : links.start[i + 1]]
        out[i] = xxhash.xxh3_64_intdigest(
            (said or "").encode(), seed=xxhash.xxh32_intdigest(ids.tobytes())
        )
    return out


def _check_order(url: NDArray[np.object_], valid_from: FloatArray, file: Path) -> None:
    same = url[1:] == url[:-1]
    if (url[1:] < url[:-1]).any() or (same & (np.diff(valid_from) <= 0)).any():
        raise BadInput(
            f"The versions of {file} must be sorted by url and valid_from, none twice. "
            "They are not; sort them."
        )


def _check_window(window: tuple[Time, Time], valid_from: FloatArray) -> None:
    begin, end = window
    first = float(valid_from.min(initial=np.inf))
    if not begin < end or end < first:
        raise BadInput(
            "The window must begin before it ends and lie within the data, which begin "
            f"{units.show_time(first)}. Got {units.show_time(begin)} .. {units.show_time(end)}."
        )


def _window(file: Path) -> tuple[Time, Time]:
    readme = file.parent / "README.md"
    found = _WINDOW.search(readme.read_text()) if readme.is_file() else None
    if found is None:
        raise BadInput(
            f"The window of the trace {file} is not known: no line 'Window: A .. B' in a README.md "
            "beside it. Give --window A..B."
        )
    return units.time(found[1]), units.time(found[2])
