"""The links of every version of a trace, as numbers, and which of them are new."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, IntArray


@dataclass(frozen=True)
class LinkTable:
    """Version v has the targets target[start[v]:start[v + 1]], ascending, each once."""

    start: IntArray
    target: NDArray[np.int32]
    internal: BoolArray  #: same scheme and host as the page
    page: NDArray[np.int32]  #: by target: its page in the trace; -1 for none

    @staticmethod
    def none(versions: int) -> LinkTable:
        """A table of versions without links."""
        return LinkTable(np.zeros(versions + 1, np.int64), _NONE, _NONE.astype(np.bool_), _NONE)

    def take(self, versions: IntArray) -> LinkTable:
        """The links of some versions, in that order."""
        counts = np.diff(self.start)[versions]
        start = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.start[versions] - start[:-1], counts) + np.arange(start[-1])
        return LinkTable(start, self.target[at], self.internal[at], self.page)

    def among(self, pages: BoolArray) -> LinkTable:
        """The same links in a trace of some of the pages."""
        renumbered = np.append(np.where(pages, np.cumsum(pages) - 1, -1), -1).astype(np.int32)
        return replace(self, page=renumbered[self.page])

    def pages_of(self, versions: IntArray) -> IntArray:
        """The pages that some versions link to."""
        linked = np.zeros(len(self.page), np.bool_)
        self.mark(versions, linked)
        pages = self.page[linked]
        return pages[pages >= 0]

    def new(self, before: IntArray, after: IntArray) -> tuple[IntArray, IntArray]:
        """How many internal and external links `after` has that `before` does not have.

        0 where there is no version before, -1.
        """
        internal, external = np.zeros((2, len(after)), np.int64)
        _new(self.start, self.target, self.internal, before, after, internal, external)
        return internal, external

    def mark(self, versions: IntArray, seen: BoolArray) -> int:
        """Mark the targets of some versions as seen; returns how many were new."""
        return int(np.sum(self.unseen(versions, seen)))

    def unseen(self, versions: IntArray, seen: BoolArray) -> tuple[IntArray, IntArray]:
        """Mark the targets of versions as seen; returns how many internal and external were new."""
        internal, external = np.zeros((2, len(versions)), np.int64)
        _mark(self.start, self.target, self.internal, versions, seen, internal, external)
        return internal, external


@njit(cache=True)
def _mark(start, target, inside, versions, seen, internal, external):  # type: ignore[no-untyped-def]
    for i, version in enumerate(versions):
        for at in range(start[version], start[version + 1]):
            if not seen[target[at]]:
                seen[target[at]] = True
                if inside[at]:
                    internal[i] += 1
                else:
                    external[i] += 1


@njit(cache=True)
def _new(start, target, inside, before, after, internal, external):  # type: ignore[no-untyped-def]
    for i in range(len(after)):
        if before[i] == after[i] or before[i] < 0:
            continue
        old, old_end = start[before[i]], start[before[i] + 1]
        for new in range(start[after[i]], start[after[i] + 1]):
            while old < old_end and target[old] < target[new]:
                old += 1
            if old == old_end or target[old] != target[new]:
                if inside[new]:
                    internal[i] += 1
                else:
                    external[i] += 1


_NONE = np.empty(0, np.int32)


class LinkTableBuilder:
    """Builds a table from batches of versions; numbers targets in the order in which they come."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._origins: dict[str, int] = {}  #: numbers of scheme and host
        self._origin: list[int] = []  #: of each target
        self._parts: list[LinkTable] = []

    def add(self, pages: list[str], links: pa.Array) -> LinkTable:
        """Add versions, given the page and the links of each; returns their table."""
        flat = links.flatten().dictionary_encode()
        number = np.array([self._numbered(t) for t in flat.dictionary.to_pylist()], np.int32)
        target = number[flat.indices.to_numpy(zero_copy_only=False)] if len(flat) else number
        row = np.repeat(
            np.arange(len(pages)), links.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        )
        both = np.sort(row.astype(np.int64) << 32 | target)
        both = both[np.diff(both, prepend=-1) != 0]
        row, target = both >> 32, (both & 0xFFFF_FFFF).astype(np.int32)
        home = np.array([self._origin_of(page) for page in pages], np.int32)
        inside = np.array(self._origin, np.int32)[target] == home[row]
        start = np.searchsorted(row, np.arange(len(pages) + 1))
        self._parts.append(LinkTable(start, target, inside, _NONE))
        return self._parts[-1]

    def _numbered(self, target: str) -> int:
        number = self._number.setdefault(target, len(self._number))
        if number == len(self._origin):
            self._origin.append(self._origin_of(target))
        return number

    def _origin_of(self, url: str) -> int:
        end = url.find("/", 8)
        return self._origins.setdefault(url[:end] if end >= 0 else url, len(self._origins))

    def done(self, urls: Sequence[str]) -> LinkTable:
        """The table of all versions; pages of the trace are numbered as in `urls`."""
        page = np.full(len(self._number), -1, np.int32)
        for number, url in enumerate(dict.fromkeys(urls)):
            if url in self._number:
                page[self._number[url]] = number
        counts = np.concatenate([np.diff(part.start) for part in self._parts])
        return LinkTable(
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([part.target for part in self._parts]),
            np.concatenate([part.internal for part in self._parts]),
            page,
        )
