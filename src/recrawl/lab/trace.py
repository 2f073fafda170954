"""A trace: every version of a set of pages and from when it was valid. Replays answer from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash
from numba import njit

from recrawl import units
from recrawl.errors import BadInput
from recrawl.lab.claims import read_claims
from recrawl.lab.links import LinkTable, LinkTableBuilder
from recrawl.model import starts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from recrawl.lab.claims import TraceClaims
    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Time

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
    links: LinkTable  #: of each version
    window: tuple[Time, Time]
    certain: BoolArray | None = None  #: which versions were observed, not assumed; None: all
    body_bytes: FloatArray | None = None  #: size of each version's body; NaN: unknown; None: all
    file: Path | None = None  #: where texts and links can be read
    row: IntArray | None = None  #: of each version in that file
    claims: TraceClaims | None = None  #: what sitemaps and feeds say of the pages

    def __len__(self) -> int:
        return len(self.urls)

    @cached_property
    def page(self) -> IntArray:
        """The page of each version."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """For each version, how many versions up to it have other content than the one before.

        Counts go on from page to page, so their difference is the number of changes in between.
        """
        changed = np.diff(self.content, prepend=self.content[:1]) != 0
        return np.cumsum(changed | (np.diff(self.page, prepend=0) != 0))

    @cached_property
    def next_change(self) -> NDArray[np.int64]:
        """For each version the next with other content; a page's last leads to the next page."""
        first = np.flatnonzero(np.diff(self.steps, prepend=-1))
        place = np.searchsorted(first, np.arange(len(self.steps)), side="right")
        return np.append(first, len(self.steps) - 1)[place]

    @cached_property
    def first_equal(self) -> IntArray:
        """For each version the first of its page with the same content."""
        order = np.lexsort((self.content, self.page))  # stable: versions stay in order of time
        page, content = self.page[order], self.content[order]
        new = np.concatenate([[True], (page[1:] != page[:-1]) | (content[1:] != content[:-1])])
        first = np.empty(len(order), np.int64)
        first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
        return first

    def live_at(self, at: Time) -> NDArray[np.int64]:
        """The version of each page at a time; -1 if the page did not exist yet or was gone."""
        version = self.version_at(at)
        return np.where((version >= 0) & (self.status[version] < 300), version, -1)

    def version_at(self, at: Time) -> NDArray[np.int64]:
        """The version of each page at a time; -1 before its first."""
        so_far = np.bincount(self.page, self.valid_from <= at, minlength=len(self)).astype(np.int64)
        return np.where(so_far > 0, self.start[:-1] + so_far - 1, -1)

    def live(self, page: IntArray, at: FloatArray) -> NDArray[np.int64]:
        """The version of each page at its own time; -1 if it did not exist yet or was gone."""
        version = self.version(page, at)
        return np.where((version >= 0) & (self.status[version] < 300), version, -1)

    def version(self, page: IntArray, at: FloatArray) -> NDArray[np.int64]:
        """The version of each page at its own time; -1 before its first."""
        version: NDArray[np.int64] = _latest(self.start, self.valid_from, page, at)
        return version

    def link_counts(self, page: IntArray, since: FloatArray, until: FloatArray) -> FloatArray:
        """For each visit: internal links new since a time, external ones, all; NaN: unknown."""
        before = self.live(page, np.nan_to_num(since, nan=-np.inf))
        after = self.live(page, until)
        counts = np.array([*self.links.new(before, after), np.diff(self.links.start)[after]], float)
        counts[:2, before < 0] = np.nan
        counts[:, after < 0] = np.nan
        return counts

    def targets(self) -> int:
        """The number of different link targets."""
        return len(self.links.page)

    def unseen(self, page: IntArray, at: FloatArray, seen: BoolArray) -> FloatArray:
        """For each visit, internal and external links to targets not in `seen`; adds them to it."""
        version = self.live(page, at)
        counts = np.full((2, len(page)), np.nan)
        counts[:, version >= 0] = self.links.unseen(version[version >= 0], seen)
        return counts

    def texts(self, page: IntArray, at: FloatArray) -> pa.Array:
        """The text of each page at its own time; null where it is not known."""
        if self.file is None:
            return pa.nulls(len(page), pa.large_string())
        version = self.live(page, np.nan_to_num(at, nan=-np.inf))
        return self._texts.take(pa.array(version, mask=version < 0))

    @cached_property
    def _texts(self) -> pa.Array:
        table = pq.read_table(self.file, columns=["text"], partitioning=None)
        return table["text"].cast(pa.large_string()).combine_chunks().take(pa.array(self.row))

    def outlinks(self, page: IntArray, at: FloatArray) -> tuple[IntArray, IntArray]:
        """The links of each page at its own time: starts, and numbers of targets.

        A target that is a page of the trace has that page's number.
        """
        version = self.live(page, np.nan_to_num(at, nan=-np.inf))
        links = self.links.take(version[version >= 0])
        counts = np.zeros(len(page), np.int64)
        counts[version >= 0] = np.diff(links.start)
        number = links.page[links.target]
        return starts(counts), np.where(number >= 0, number, len(self) + links.target)

    @cached_property
    def contents(self) -> pa.Table:
        """The text and links of each version; read from the file at first use, then cached."""
        if self.file is None:
            raise BadInput(
                f"The trace {self.name} says when pages changed, not what they said; "
                "leave out what needs texts."
            )
        table = pq.read_table(self.file, columns=["text", "links"], partitioning=None)
        table = table.cast(pa.schema([("text", pa.large_string()), table.schema.field("links")]))
        return table.take(pa.array(self.row))

    def alive(self) -> BoolArray:
        """Which pages existed throughout the window?"""
        begin, end = self.window
        there = self.version_at(begin) >= 0
        gone = (self.status >= 300) & (self.valid_from <= end)
        gone &= np.arange(len(self.valid_from)) >= self.version_at(begin)[self.page]
        lost = np.bincount(self.page, gone, minlength=len(self)) > 0
        return np.logical_and(there, ~lost)

    def present(self) -> BoolArray:
        """Which pages existed at any time of the window?"""
        begin, end = self.window
        there = (self.status < 300) & (self.valid_from <= end)
        until = np.append(self.valid_from[1:], np.inf)
        until[self.start[1:] - 1] = np.inf
        return np.bincount(self.page, there & (until > begin), minlength=len(self)) > 0

    def take(self, pages: BoolArray) -> Trace:
        """The trace of some of the pages."""
        return self._of(pages[self.page])

    def from_first_success(self) -> Trace:
        """The trace without the versions before a page first existed."""
        there = self.status < 300
        so_far = np.cumsum(there)
        before: IntArray = (so_far - there)[self.start[:-1]]
        return self._of(so_far > before[self.page])

    def _of(self, kept: BoolArray) -> Trace:
        """The trace of some of the versions, and of the pages that still have any."""
        if kept.all():
            return self
        versions = np.flatnonzero(kept)
        counts = np.bincount(self.page[versions], minlength=len(self))
        pages = counts > 0
        return Trace(
            name=self.name,
            urls=[url for url, kept in zip(self.urls, pages, strict=True) if kept],
            start=np.concatenate([[0], np.cumsum(counts[pages])]),
            valid_from=self.valid_from[versions],
            status=self.status[versions],
            content=self.content[versions],
            links=self.links.take(versions).among(pages),
            window=self.window,
            certain=None if self.certain is None else self.certain[versions],
            body_bytes=None if self.body_bytes is None else self.body_bytes[versions],
            file=self.file,
            row=None if self.row is None else self.row[versions],
            claims=None if self.claims is None else self.claims.among(pages),
        )


@njit(cache=True)
def _latest(start, valid_from, page, at):  # type: ignore[no-untyped-def]
    version = np.empty(len(page), np.int64)
    for i in range(len(page)):
        first, end = start[page[i]], start[page[i] + 1]
        place = np.searchsorted(valid_from[first:end], at[i], side="right")
        version[i] = first + place - 1 if place else -1
    return version


def read_trace(path: str | Path, window: tuple[Time, Time] | None = None) -> Trace:
    """Read a folder with versions.parquet and its window in README.md, or such a Parquet file."""
    path = Path(path)
    file = path / "versions.parquet" if path.is_dir() else path
    if not file.is_file():
        raise BadInput(
            f"A trace must be a folder with versions.parquet, or such a file. Got {path}."
        )
    url, valid_from, status, content, links, body_bytes = _read(file)
    _check_order(url, valid_from, file)
    window = window or _window(file)
    check_window(window, valid_from)
    begins = np.concatenate([[True], url[1:] != url[:-1]])
    first = np.flatnonzero(begins)
    # A page that is gone keeps its content: when it comes back, it may be unchanged.
    last = np.maximum.accumulate(np.where(begins | (status < 300), np.arange(len(url)), 0))
    return Trace(
        name=trace_name(path),
        urls=url[first].tolist(),
        start=np.append(first, len(url)),
        valid_from=valid_from,
        status=status,
        content=content[last],
        links=links,
        window=window,
        body_bytes=body_bytes,
        file=file,
        row=np.arange(len(url)),
        claims=read_claims(file.parent / "signals.parquet", url[first].tolist()),
    )


def trace_name(path: Path) -> str:
    """The name of the trace at a path: its folder, or its file if that is not versions.parquet."""
    path = path.resolve()
    if path.is_dir():
        return path.name
    return path.parent.name if path.name == "versions.parquet" else path.stem


def _read(
    file: Path,
) -> tuple[NDArray[np.object_], FloatArray, NDArray[np.int16], KeyArray, LinkTable, FloatArray]:
    url: list[str] = []
    times, statuses, contents, sizes = [], [], [], []
    links = LinkTableBuilder()
    try:
        with pq.ParquetFile(file) as table:
            _check_types(table.schema_arrow, file)
            unit = table.schema_arrow.field("valid_from").type.unit
            for batch in table.iter_batches(batch_size=1000, columns=list(COLUMNS)):
                _check_values(batch, file)
                names = batch["url"].to_pylist()
                added = links.add(names, batch["links"])
                url += names
                times.append(batch["valid_from"].cast("int64").to_numpy(zero_copy_only=False))
                statuses.append(batch["status"].to_numpy(zero_copy_only=False))
                contents.append(_contents(batch["text"], added))
                sizes.append(_sizes(batch["text"]))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"The trace {file} must be a Parquet file, bit strings or a store. "
            f"It cannot be read: {str(error).splitlines()[0].rstrip('.')}."
        ) from error
    if not url:
        raise BadInput(f"The trace {file} must hold versions of pages. It holds none.")
    return (
        np.array(url, dtype=object),
        np.concatenate(times) / {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit],
        np.concatenate(statuses).astype(np.int16),
        np.concatenate(contents),
        links.done(url),
        np.concatenate(sizes),
    )


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    fits = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    return any(one(kind) for one in fits)


def _is_texts(kind: pa.DataType) -> bool:
    return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_text(kind.value_type)


COLUMNS: dict[str, tuple[str, Callable[[pa.DataType], bool]]] = {
    "url": ("text", _is_text),
    "valid_from": ("a timestamp", pa.types.is_timestamp),
    "status": ("a whole number", pa.types.is_integer),
    "text": ("text", _is_text),
    "links": ("a list of texts", _is_texts),
}


def _check_types(schema: pa.Schema, file: Path) -> None:
    """Refuse a file whose columns are not those of a trace."""
    for name, (what, fits) in COLUMNS.items():
        if name not in schema.names:
            raise BadInput(
                f"The trace {file} has no column {name!r}. It needs {', '.join(COLUMNS)}."
            )
        if not fits(schema.field(name).type):
            got = schema.field(name).type
            raise BadInput(f"The trace {file}: {name} must be {what}. Got {got}; convert it.")


def _check_values(batch: pa.RecordBatch, file: Path) -> None:
    """Refuse versions with missing or impossible values."""
    must = {name: batch[name] for name in ("url", "valid_from", "status")}
    for name, column in (must | {"links": batch["links"].flatten()}).items():
        if column.null_count:
            raise BadInput(f"The trace {file}: {name} must not be null. Got one; leave it out.")
    status = batch["status"].to_numpy(zero_copy_only=False)
    wrong = status[(status < 100) | (status > 599)]
    if len(wrong):
        raise BadInput(f"The trace {file}: status must be from 100 to 599. Got {wrong[0]}.")


def _contents(text: pa.Array, links: LinkTable) -> KeyArray:
    """A hash of the text and the links of each version."""
    out = np.empty(len(text), np.uint64)
    for i, body in enumerate(text.cast(pa.binary()).to_pylist()):
        ids = links.target[links.start[i] : links.start[i + 1]]
        out[i] = xxhash.xxh3_64_intdigest(body or b"", seed=xxhash.xxh32_intdigest(ids.tobytes()))
    return out


def _sizes(text: pa.Array) -> FloatArray:
    """The UTF-8 bytes of each text; NaN without one. A trace knows no other size of a body."""
    sizes = pc.binary_length(text.cast(pa.binary())).cast(pa.float64())
    return np.asarray(sizes.to_numpy(zero_copy_only=False), np.float64)


def _check_order(url: NDArray[np.object_], valid_from: FloatArray, file: Path) -> None:
    same = url[1:] == url[:-1]
    if (url[1:] < url[:-1]).any() or (same & (np.diff(valid_from) <= 0)).any():
        raise BadInput(
            f"The versions of {file} must be sorted by url and valid_from, none twice. "
            "They are not; sort them."
        )


def check_window(window: tuple[Time, Time], valid_from: FloatArray) -> None:
    """Refuse a window that is empty or ends before the data begin."""
    begin, end = window
    first = float(valid_from.min(initial=np.inf))
    if not begin < end or end < first:
        raise BadInput(
            "The window must begin before it ends and lie within the data, which begin "
            f"{units.show_time(first)}. Got {units.show_time(begin)} .. {units.show_time(end)}."
        )


def _window(file: Path) -> tuple[Time, Time]:
    readme = file.parent / "README.md"
    match = _WINDOW.search(readme.read_text("utf-8", "replace")) if readme.is_file() else None
    if match is None:
        raise BadInput(
            f"The window of the trace {file} is not known: no line 'Window: A .. B' in a README.md "
            "beside it. Give --window A..B."
        )
    return units.time(match[1]), units.time(match[2])
