"""What has been noted of recorded visits, so that no old copy need be kept for long?

Of each page the words of its last copy and how far they moved from those before; of the last cycles
those of every copy that was fetched. Rows are pages by ascending key, whatever the order asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from recrawl.model import DAY, rows_of
from recrawl.papers.radinsky.series.snapshots import Snapshots, counted, shares, vocabulary

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Pages, Time

CHARACTERS = 20_000  #: of a text that are read


@dataclass
class Diary:
    """Notes on pages. `words` is the size of the vocabulary, `cycles` how many are remembered."""

    words: int = 5_000
    cycles: int = 50
    key: KeyArray = field(default_factory=lambda: np.empty(0, np.uint64))
    notes: dict[str, FloatArray] = field(default_factory=dict)
    last: Any = None  #: SciPy CSR: the word counts of the last copy of each page
    fetched: list[Any] = field(default_factory=list)  #: word counts, a table a cycle
    rows: list[IntArray] = field(default_factory=list)  #: their pages, as places among `key`
    column: IntArray | None = None  #: the vocabulary

    def visited(self, pages: Pages) -> BoolArray:
        """Which pages, in the order of `key`, have been visited since what is noted of them."""
        seen = np.nan_to_num(self.notes["visit"], nan=-np.inf)
        return np.nan_to_num(pages.last_visit, nan=-np.inf) > seen

    def align(self, pages: Pages) -> Pages:
        """The pages in the order of `key`, which new ones are added to."""
        pages = pages.take(np.argsort(pages.key))
        if not self.notes or not np.array_equal(pages.key, self.key):
            self._grow(pages)
        return pages

    def note(self, pages: Pages, visited: BoolArray) -> None:
        """Take down what is now known of the pages, in the order of `key`."""
        rows = np.flatnonzero(visited)
        self._read(pages, rows)
        bits = pages.recent & np.uint64(1), (pages.recent >> np.uint64(1)) & np.uint64(1)
        self.notes |= {
            "visit": pages.last_visit.copy(),
            "change": pages.last_change.copy(),
            "rate": (pages.n_changes + 0.5) / (pages.exposure + 0.5),
            "often": pages.n_changes / np.maximum(pages.n_compared, 1),
            "compared": pages.n_compared.astype(np.float64),
            "bit": np.where(pages.n_compared > 0, bits[0], np.nan),
            "bit_before": np.where(pages.n_compared > 1, bits[1], np.nan),
            "quiet": (pages.last_visit - pages.last_change) / DAY,
        }

    def snapshots(self) -> Snapshots:
        """What the pages said, a column a cycle; -1 where they were not fetched."""
        copy = np.full((len(self.key), len(self.rows)), -1)
        begin = 0
        for cycle, rows in enumerate(self.rows):
            copy[rows, cycle] = begin + np.arange(len(rows))
            begin += len(rows)
        return Snapshots(csr_matrix(vstack(self.fetched)), copy)

    def _read(self, pages: Pages, rows: IntArray) -> None:
        """Count the words of new copies; a visit that showed no change has the words it had."""
        same = self._had(rows) & (pages.last_change[rows] != pages.last_visit[rows])
        rows, kept = rows[~same], rows[same]
        texts = pages.take(rows).texts()
        known = ~np.asarray(texts.is_null())
        rows, texts = rows[known], texts.filter(known)
        if self.column is None:
            if not len(rows):
                return
            self.column = vocabulary(texts, most=self.words, characters=CHARACTERS)
        new = counted(texts, self.column, characters=CHARACTERS)
        if self.last is None:
            self.last = csr_matrix((len(self.key), new.shape[1]))
        gap = shares(new) - shares(self.last[rows])
        far = np.sqrt(np.asarray(gap.multiply(gap).sum(axis=1)).ravel())
        both = np.concatenate([rows, kept])
        self.notes["moved_before"][both] = self.notes["moved"][both]
        self.notes["moved"][kept] = 0.0
        self.notes["moved"][rows] = np.where(self._had(rows), far, np.nan)
        self.fetched = [*self.fetched, vstack([new, self.last[kept]])][-self.cycles :]
        self.rows = [*self.rows, both][-self.cycles :]
        place = np.arange(len(self.key))
        place[rows] = len(self.key) + np.arange(len(rows))
        self.last = csr_matrix(vstack([self.last, new]))[place]

    def _had(self, rows: IntArray) -> BoolArray:
        """Of which pages there is a copy with words."""
        if self.last is None:
            return np.zeros(len(rows), np.bool_)
        had: BoolArray = np.diff(self.last.indptr)[rows] > 0
        return had

    def _grow(self, pages: Pages) -> None:
        """Make room for pages not known before; those that are gone are forgotten."""
        place = rows_of(pages.key, self.key)
        there = place >= 0
        moved_to = np.full(len(self.key), -1)
        moved_to[place[there]] = np.flatnonzero(there)
        empty = np.full(len(pages), np.nan)
        notes = {}
        for name in {"visit", "moved", "moved_before", *self.notes}:
            notes[name] = empty.copy()
            if name in self.notes:
                notes[name][there] = self.notes[name][place[there]]
        self.notes = notes
        if self.last is not None:
            nothing = csr_matrix((1, self.last.shape[1]))
            source = np.where(there, place, len(self.key))
            self.last = csr_matrix(vstack([self.last, nothing]))[source]
        rows = [moved_to[rows] for rows in self.rows]
        self.fetched = [table[new >= 0] for table, new in zip(self.fetched, rows, strict=True)]
        self.rows = [new[new >= 0] for new in rows]
        self.key = pages.key.copy()


def due(last: Time | None, now: Time, days: float) -> bool:
    """Whether so many days have passed since a time."""
    return last is None or now - last >= days * DAY
