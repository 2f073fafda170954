"""What a forecaster keeps of recorded visits, so that old copies need not be stored.

For each page: the words of its last two copies, how far they moved, and its latest counts. For the
last cycles: the words of every copy fetched, and what was known after each visit. Rows are pages by
ascending key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from recrawl.model import DAY, rows_of, starts
from recrawl.papers.radinsky.series.snapshots import (
    Snapshots,
    count_words,
    vocabulary,
    word_shares,
)

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Pages

MAX_CHARACTERS = 20_000  #: characters read of each text
SERIES_CYCLES = 50  #: of the word series by which experts are selected; the paper's n
#: Columns of `features` after the first, which is days since the last visit.
FEATURES = (
    "rate",  # changes a day, smoothed
    "change_share",  # of compared visits
    "n_compared",
    "changed",  # at the last compared visit: 1 or 0
    "changed_before",  # at the one before
    "days_quiet",  # from the last change to the last visit
    "distance",  # of the word shares of the last two copies
    "distance_before",
)
#: What `past_visits` knows after each visit.
FACTS = ("visit", "shown", "change_share", "distance", "distance_before", "changed")


@dataclass(frozen=True)
class PastVisits:
    """The visits kept, by page and time; page p owns rows start[p] to start[p + 1]."""

    start: IntArray
    cycle: IntArray
    facts: dict[str, FloatArray]
    counts: Any  #: SciPy CSR: word counts of the copy of each visit

    def before(self, page: IntArray, cycle: IntArray) -> IntArray:
        """The last visit to each page in an earlier cycle than the one given; -1 for none."""
        span = int(self.cycle.max(initial=0)) + 2
        number = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start)) * span + self.cycle
        visit = np.searchsorted(number, page * span + cycle, "left") - 1
        return np.where(visit >= self.start[page], visit, -1)

    def previous(self, visit: IntArray) -> IntArray:
        """The visit to the same page before each visit; -1 for none."""
        is_first = np.isin(visit, self.start[:-1])
        return np.where((visit >= 0) & ~is_first, visit - 1, -1)


@dataclass
class VisitLog:
    """Columns and word counts of the pages at their last visits."""

    words: int = 5_000  #: size of the vocabulary
    cycles: int = SERIES_CYCLES  #: kept
    key: KeyArray = field(default_factory=lambda: np.empty(0, np.uint64))
    columns: dict[str, FloatArray] = field(default_factory=dict)
    last: Any = None  #: SciPy CSR: word counts of the last copy of each page
    before: Any = None  #: of the copy before it
    fetched: list[Any] = field(default_factory=list)  #: word counts, one table per cycle
    rows: list[IntArray] = field(default_factory=list)  #: the pages of each table
    facts: list[FloatArray] = field(default_factory=list)  #: FACTS, one table per cycle
    vocabulary: IntArray | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no visit has been recorded yet."""
        return "rate" not in self.columns

    def align(self, pages: Pages) -> Pages:
        """The pages by ascending key; new ones get a row, and rows of others are dropped."""
        pages = pages.take(np.argsort(pages.key))
        if not self.columns or not np.array_equal(pages.key, self.key):
            self._resize(pages)
        return pages

    def visited(self, pages: Pages) -> BoolArray:
        """Which aligned pages have been visited since they were last recorded."""
        recorded = np.nan_to_num(self.columns["visit"], nan=-np.inf)
        return np.nan_to_num(pages.last_visit, nan=-np.inf) > recorded

    def record(self, pages: Pages, visited: BoolArray) -> None:
        """Store what is now known of the aligned pages, and the words of those visited."""
        rows = self._read_words(pages, np.flatnonzero(visited))
        last, before = pages.recent & np.uint64(1), (pages.recent >> np.uint64(1)) & np.uint64(1)
        known = np.nan_to_num(self.columns.get("n_compared", np.zeros(len(pages))))
        shown = np.where(pages.n_compared > known, pages.last_change == pages.last_visit, np.nan)
        self.columns |= {
            "visit": pages.last_visit.copy(),
            "shown": shown,
            "change": pages.last_change.copy(),
            "rate": (pages.n_changes + 0.5) / (pages.exposure + 0.5),
            "change_share": pages.n_changes / np.maximum(pages.n_compared, 1),
            "n_compared": pages.n_compared.astype(np.float64),
            "changed": np.where(pages.n_compared > 0, last, np.nan),
            "changed_before": np.where(pages.n_compared > 1, before, np.nan),
            "days_quiet": (pages.last_visit - pages.last_change) / DAY,
        }
        if rows is not None:
            facts = np.column_stack([self.columns[name][rows] for name in FACTS])
            self.facts = [*self.facts, facts][-self.cycles :]
            self.rows = [*self.rows, rows][-self.cycles :]

    def features(self, rows: IntArray, at: FloatArray) -> FloatArray:
        """Features of pages, each at a time of its own: days since the last visit, `FEATURES`."""
        days = np.maximum(at - self.columns["visit"][rows], 0.0) / DAY
        return np.column_stack([days, *(self.columns[name][rows] for name in FEATURES)])

    def snapshots(self) -> Snapshots:
        """Word counts of the pages, one day per cycle; -1 where a page was not fetched."""
        tables, pages = self.fetched[-SERIES_CYCLES:], self.rows[-SERIES_CYCLES:]
        copy = np.full((len(self.key), len(pages)), -1)
        begin = 0
        for cycle, rows in enumerate(pages):
            copy[rows, cycle] = begin + np.arange(len(rows))
            begin += len(rows)
        return Snapshots(csr_matrix(vstack(tables)), copy)

    def copies(self) -> Any:
        """Word counts of the last copy of each page, then of the copy before (SciPy CSR)."""
        return csr_matrix(vstack([self.last, self.before]))

    def past_visits(self) -> PastVisits:
        """The visits of the cycles kept; those whose text is unknown are left out."""
        page = np.concatenate(self.rows)
        order = np.argsort(page, kind="stable")
        facts = np.concatenate(self.facts)[order]
        return PastVisits(
            starts(np.bincount(page, minlength=len(self.key))),
            np.repeat(np.arange(len(self.rows)), [len(rows) for rows in self.rows])[order],
            dict(zip(FACTS, facts.T, strict=True)),
            csr_matrix(vstack(self.fetched))[order],
        )

    def _read_words(self, pages: Pages, rows: IntArray) -> IntArray | None:
        """Count the words of new copies; an unchanged page keeps the words that it had.

        Returns the pages whose words are known now; None before any text is known.
        """
        unchanged = self._has_words(rows) & (pages.last_change[rows] != pages.last_visit[rows])
        rows, kept = rows[~unchanged], rows[unchanged]
        texts = pages.take(rows).texts()
        known = ~np.asarray(texts.is_null())
        rows, texts = rows[known], texts.filter(known)
        if self.vocabulary is None:
            if not len(rows):
                return None
            self.vocabulary = vocabulary(texts, size=self.words, characters=MAX_CHARACTERS)
        new = count_words(texts, self.vocabulary, characters=MAX_CHARACTERS)
        if self.last is None:
            self.last = self.before = csr_matrix((len(self.key), new.shape[1]))
        gap = word_shares(new) - word_shares(self.last[rows])
        distance = np.sqrt(np.asarray(gap.multiply(gap).sum(axis=1)).ravel())
        both = np.concatenate([rows, kept])
        self.columns["distance_before"][both] = self.columns["distance"][both]
        self.columns["distance"][kept] = 0.0
        self.columns["distance"][rows] = np.where(self._has_words(rows), distance, np.nan)
        self.fetched = [*self.fetched, vstack([new, self.last[kept]])][-self.cycles :]
        self.before = _replaced(self.before, both, self.last[both])
        self.last = _replaced(self.last, rows, new)
        return both

    def _has_words(self, rows: IntArray) -> BoolArray:
        if self.last is None:
            return np.zeros(len(rows), np.bool_)
        has_words: BoolArray = np.diff(self.last.indptr)[rows] > 0
        return has_words

    def _resize(self, pages: Pages) -> None:
        """Make the rows those of `pages`; a new page has NaN and no words."""
        old = rows_of(pages.key, self.key)
        known = old >= 0
        new = np.full(len(self.key), -1)
        new[old[known]] = np.flatnonzero(known)
        columns = {}
        for name in {"visit", "distance", "distance_before", *self.columns}:
            columns[name] = np.full(len(pages), np.nan)
            if name in self.columns:
                columns[name][known] = self.columns[name][old[known]]
        self.columns = columns
        if self.last is not None:
            nothing = csr_matrix((1, self.last.shape[1]))
            source = np.where(known, old, len(self.key))
            self.last = csr_matrix(vstack([self.last, nothing]))[source]
            self.before = csr_matrix(vstack([self.before, nothing]))[source]
        rows = [new[rows] for rows in self.rows]
        self.fetched = [table[at >= 0] for table, at in zip(self.fetched, rows, strict=True)]
        self.facts = [table[at >= 0] for table, at in zip(self.facts, rows, strict=True)]
        self.rows = [at[at >= 0] for at in rows]
        self.key = pages.key.copy()


def _replaced(table: Any, rows: IntArray, new: Any) -> Any:
    """A sparse table in which some rows are new."""
    source = np.arange(table.shape[0])
    source[rows] = len(source) + np.arange(len(rows))
    return csr_matrix(vstack([table, new]))[source]
