"""A history in memory, for replays: folds visits as the store does, in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl import urls
from recrawl.errors import BadInput
from recrawl.history.append import Appended
from recrawl.history.arrow import micros, values
from recrawl.history.copies import has_content
from recrawl.history.fold import (
    NO_TIME,
    OK,
    SAME,
    TIMES,
    UNKNOWN,
    PageState,
    failure_kinds,
    fold,
    status_outcomes,
)
from recrawl.history.memory_signals import MemorySignals
from recrawl.model import VISITS, Intervals, Outlinks, Pages
from recrawl.random import mix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recrawl.model import BoolArray, Column, FloatArray, IntArray, Signals, Time
    from recrawl.protocols import Detector

COUNTS = ("new_internal", "new_external", "links")
NEVER_SEEN = ("never_seen_internal", "never_seen_external")


class CopySource(Protocol):
    """The contents of pages (by row) at given times."""

    def link_counts(self, page: IntArray, since: FloatArray, until: FloatArray) -> FloatArray:
        """COUNTS, a row each, of visits at `until` whose copy before is of `since`."""

    def targets(self) -> int:
        """The number of distinct link targets."""

    def unseen(self, page: IntArray, at: FloatArray, seen: BoolArray) -> FloatArray:
        """Internal and external links of visits to targets not yet marked in `seen`; marks them.

        Two rows, NaN where links are not known.
        """

    def texts(self, page: IntArray, at: FloatArray) -> pa.Array: ...
    def outlinks(self, page: IntArray, at: FloatArray) -> tuple[IntArray, IntArray]:
        """Start of each copy's targets, and the targets; one that is a page is given by its row."""


class MemoryHistory:
    """All visits to a fixed set of pages, each batch later than the one before it.

    Pages not `known` at the start (the time `seen`) become known by a row without `at`, as in a
    store. Contents are not kept; `copies`, if given, provides them.
    """

    def __init__(
        self,
        names: Sequence[str],
        detector: Detector,
        *,
        seen: Time,
        known: BoolArray | None = None,
        copies: CopySource | None = None,
    ) -> None:
        self.names = list(names)
        self.detector = detector
        self.copies = copies
        self._row = {url: row for row, url in enumerate(self.names)}
        self._state = PageState.empty(len(self.names))
        self._copy = VISITS.empty_table().select(list(detector.needs)).take(_nulls(len(names)))
        self._targets = np.zeros(copies.targets() if copies else 0, np.bool_)  # seen ones
        self._log: list[tuple[Column, ...]] = []
        self._signals = MemorySignals(len(self.names))
        self._first_modified = np.full(len(self.names), NO_TIME)
        self._known = np.ones(len(names), np.bool_) if known is None else known.copy()
        hosts = [urls.host(name) for name in self.names]
        self._fixed: dict[str, Any] = {
            "page_id": np.arange(len(names), dtype=np.int32),
            "key": urls.keys(names),
            "host": _numbers(hosts),
            "site": _numbers([urls.site(host) for host in hosts]),
            "first_seen": np.full(len(names), seen),
        }

    def append(self, visits: pa.Table, *, now: Time | None = None) -> Appended:
        """Add visits: at most one per page, later than those before."""
        row = np.array([self._row[url] for url in visits["url"].to_pylist()], np.int64)
        if visits["at"].null_count:
            visited = values(visits["at"].is_valid())
            seen = row[~visited]
            self._fixed["first_seen"][seen[~self._known[seen]]] = now
            self._known[seen] = True
            visits, row = visits.filter(pa.array(visited)), row[visited]
        at = micros(visits["at"])
        if len(np.unique(row)) < len(row) or (at <= self._state.last_attempt[row]).any():
            raise BadInput(
                "A history in memory takes one visit per page and batch, in the order of time. "
                "Got an earlier or a second one; use a store."
            )
        order = np.argsort(row)
        self._record(visits.take(pa.array(order)), row[order], at[order])
        return Appended(added=len(row))

    def _record(self, visits: pa.Table, row: IntArray, at: NDArray[np.int64]) -> None:
        status = values(visits["status"], -1)
        outcome = status_outcomes(status)
        is_copy = has_content(visits, outcome, self.detector)
        differs = np.full(len(row), UNKNOWN, np.int8)
        needs = list(self.detector.needs)
        copies = visits.select(needs).take(pa.array(np.flatnonzero(is_copy)))
        judged = self.detector.changed(self._copy.take(pa.array(row[is_copy])), copies)
        differs[is_copy] = values(judged.cast(pa.int8()), UNKNOWN)
        is_reported = status == 304
        differs[is_reported] = SAME
        size = values(visits["bytes"].cast(pa.float64()), np.nan)
        seconds = values(visits["seconds"], np.nan)
        counts = self._link_counts(row, at, outcome == OK)
        kinds = failure_kinds(status, visits["problem"])
        folded = fold(
            self._state, row, at, outcome, kinds, differs, is_reported, is_copy, size, seconds
        )
        source = np.arange(len(self.names))
        source[row[is_copy]] = len(self.names) + np.arange(len(copies))
        self._copy = pa.concat_tables([self._copy, copies]).take(pa.array(source))
        known = folded.changed != UNKNOWN
        self._signals.add_visits(
            row[known], at[known], folded.days[known], folded.changed[known] == 1
        )
        modified = micros(visits["last_modified"])
        is_first = self._state.first_visit[row] == at
        self._first_modified[row[is_first]] = modified[is_first]
        columns = (row, folded.days, folded.changed, at, modified, *counts)
        self._log.append(tuple(column[known] for column in columns))

    def _link_counts(self, row: IntArray, at: NDArray[np.int64], came: BoolArray) -> FloatArray:
        """COUNTS and NEVER_SEEN of these visits, before they are recorded."""
        if self.copies is None:
            return np.full((5, len(row)), np.nan)
        since, until = _seconds(self._state.last_visit[row]), _seconds(at)
        counts = self.copies.link_counts(row, since, until)
        unseen = np.full((2, len(row)), np.nan)
        unseen[:, came] = self.copies.unseen(row[came], until[came], self._targets)
        return np.vstack([counts, unseen])

    def pages(self) -> Pages:
        columns = self._state.columns()
        wanted: dict[str, Any] = {
            name: columns[name].copy() for name in columns if name not in (*TIMES, "gone")
        }
        wanted |= {name: _seconds(columns[name]) for name in TIMES if name != "copy_at"}
        pages = Pages(**self._fixed, **wanted, source=self)
        return pages if self._known.all() else pages.take(self._known)

    def claim(self, claims: pa.Table) -> None:
        """Add claims of change (url, kind, said, seen), read after all before; as a store does."""
        row = np.array([self._row[url] for url in claims["url"].to_pylist()], np.int64)
        known = self._known[row]
        said, seen = micros(claims["said"])[known], micros(claims["seen"])[known]
        self._signals.add_claims(row[known], values(claims["kind"])[known], said, seen)

    def signals(self) -> Signals | None:
        """The changes that were claimed; None if there are no claims."""
        return self._signals.read(self._state.last_visit)

    def models(self) -> None:
        """A replay keeps no models."""

    def database(self) -> None:
        """A replay has no tables on disk."""

    def urls(self, page_id: IntArray) -> Sequence[str]:
        return [self.names[row] for row in page_id]

    def intervals(self, page_id: IntArray, *, never_seen: bool = False) -> Intervals:
        if not self._log:
            self._log.append(tuple(np.empty(0, np.int64) for _ in range(10)))
        if len(self._log) > 1:  # one piece, so that next time only new visits are added
            self._log = [tuple(np.concatenate(part) for part in zip(*self._log, strict=True))]
        place = np.full(len(self.names), -1)
        place[page_id] = np.arange(len(page_id))
        mine = np.flatnonzero(place[self._log[0][0]] >= 0)
        row, days, changed, at, modified, *counts = (column[mine] for column in self._log[0])
        place = place[row]
        order = np.lexsort((at, place))
        if never_seen:
            counts[:2] = counts[3:]
        return Intervals(
            start=np.searchsorted(place[order], np.arange(len(page_id) + 1)),
            days=days[order].astype(np.float64),
            changed=changed[order].astype(np.bool_),
            at=_seconds(at[order]),
            modified=_seconds(modified[order]),
            **{
                name: c[order].astype(np.float64)
                for name, c in zip(COUNTS, counts[:3], strict=True)
            },
        )

    def texts(self, page_id: IntArray, characters: int | None = None) -> pa.Array:
        if self.copies is None:
            return pa.nulls(len(page_id), pa.large_string())
        texts = self.copies.texts(page_id, _seconds(self._state.last_visit[page_id]))
        return texts if characters is None else pc.utf8_slice_codeunits(texts, 0, characters)

    def outlinks(self, page_id: IntArray) -> Outlinks:
        if self.copies is None:
            return Outlinks(np.zeros(len(page_id) + 1, np.int64), np.empty(0, np.uint64))
        start, target = self.copies.outlinks(page_id, _seconds(self._state.last_visit[page_id]))
        is_page = target < len(self.names)
        key = mix(target.astype(np.uint64))
        key[is_page] = self._fixed["key"][target[is_page]]
        return Outlinks(start, key)

    def n_links(self, page_id: IntArray) -> IntArray:
        return np.diff(self.outlinks(page_id).start)

    def first_modified(self, page_id: IntArray) -> FloatArray:
        return _seconds(self._first_modified[page_id])


def _nulls(n: int) -> pa.Array:
    return pa.nulls(n, pa.int64())


def _numbers(names: list[str]) -> NDArray[np.int32]:
    return np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)[1].astype(
        np.int32
    )


def _seconds(times: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(times == NO_TIME, np.nan, times / 1e6)
