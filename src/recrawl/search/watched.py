"""What did each copy say to searchers, and what did its changes gain? Columns, a row a page.

Whenever a copy is replaced, the scores of its terms before and after give the gain of the refresh.
Curves, document frequencies and visibility are made anew once enough copies have changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from recrawl.model import DAY
from recrawl.search.copies import Copies
from recrawl.search.curves import curves
from recrawl.search.gain import measured
from recrawl.search.inspection import EXPONENT, exponent_of, looks
from recrawl.search.scoring import Collection, scoring
from recrawl.search.terms import counted

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray, KeyArray, Pages
    from recrawl.search.queries import Workload
    from recrawl.search.terms import Counts

REFRESH = 1.0  #: copies that come, by those that curves are of, before these are made anew
MEASURED = "measured.npz"
BLOCK = 2_000  #: texts read at a time


@dataclass
class Watched:
    """The copies of pages, as far as a workload asks for them; page i is row i."""

    asked: FloatArray  #: how often each term is
    vocabulary: NDArray[np.uint64]
    by: str = "tfidf"
    form: str = "power"
    exponent: float = EXPONENT
    copies: Copies = field(default_factory=Copies)
    copy: KeyArray = field(default_factory=lambda: np.empty(0, np.uint64))  #: its key; 0 none
    seen: FloatArray = field(default_factory=lambda: np.empty(0))  #: when it was last visited
    gain: FloatArray = field(default_factory=lambda: np.empty(0))  #: of all its refreshes
    changes: FloatArray = field(default_factory=lambda: np.empty(0))  #: refreshes that changed it
    daily: FloatArray = field(default_factory=lambda: np.empty(0))  #: sum of gain / days since
    among: Collection | None = None
    curves: NDArray[np.float32] | None = None
    #: What each copy contributes to answers, and how often it is looked at in them.
    visible: FloatArray = field(default_factory=lambda: np.empty(0))
    looks: FloatArray = field(default_factory=lambda: np.empty(0))
    weight: FloatArray | None = None  #: of pages, where that is their score
    since: int = 0  #: copies that came since the curves were made

    @staticmethod
    def of(workload: Workload, *, by: str = "tfidf", form: str = "power") -> Watched:
        return Watched(workload.by_term(), workload.vocabulary, by, form, exponent_of(workload))

    @property
    def mark(self) -> str:
        """Names the workload and how scores are made."""
        said = xxhash.xxh3_64(f"{self.by} {self.exponent}".encode())
        said.update(self.vocabulary.tobytes())
        said.update(self.asked.tobytes())
        return said.hexdigest()

    def __len__(self) -> int:
        return len(self.copy)

    def grow(self, pages: int) -> None:
        """Make room for more pages, without copies yet."""
        more = pages - len(self)
        if more <= 0:
            return
        for name, value in COLUMNS.items():
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.full(more, value, column.dtype)]))
        self.copies.grow(pages)

    def stale(self, page: IntArray, copy: KeyArray) -> IntArray:
        """Rows of these pages whose copy we have not seen."""
        self.grow(int(page.max(initial=-1)) + 1)
        return np.flatnonzero((self.copy[page] != copy) & (copy != 0))

    def see(self, page: IntArray, copy: KeyArray, texts: pa.Array, at: FloatArray) -> None:
        """Take up new copies of pages, each page once, and measure what those that had one gain.

        `copy` names a copy, `at` is when it was fetched.
        """
        if not len(page):
            return
        self.grow(int(page.max()) + 1)
        new = counted(texts, self.vocabulary)
        had = self.copy[page] != 0
        if self.curves is not None:
            self._gained(page[had], at[had], new if had.all() else new.take(np.flatnonzero(had)))
            self._look(page[~had], new.take(np.flatnonzero(~had)))
        self.copy[page] = copy
        self.copies.put(page, new)
        self.since += len(page)

    def _gained(self, page: IntArray, at: FloatArray, new: Counts) -> None:
        assert self.curves is not None
        old = self.copies.take(page)
        before, after = ((counts, self._scores(counts, page)) for counts in (old, new))
        gain = measured(
            before, after, self.asked, self.curves, form=self.form, exponent=self.exponent
        )
        days = np.maximum((at - self.seen[page]) / DAY, 1.0 / 86_400)
        self.gain[page] += gain
        self.daily[page] += gain / np.where(np.isnan(days), np.inf, days)
        self.changes[page] += 1.0

    def _look(self, page: IntArray, counts: Counts) -> None:
        """What copies contribute to answers, and how often they are looked at there."""
        assert self.curves is not None
        score = self._scores(counts, page)
        self.looks[page], self.visible[page] = looks(
            counts, score, self.asked, self.curves, self.exponent
        )

    def visited(self, page: IntArray, at: FloatArray) -> None:
        """Note when pages were last visited, whatever that showed."""
        self.seen[page] = at

    def watch(self, pages: Pages) -> None:
        """Take up all copies that came since, of a history that can be read page by page."""
        last = np.fmax(pages.last_change, pages.first_visit)
        copy = np.where(np.isnan(last), np.uint64(0), last.view(np.uint64))
        rows = self.stale(pages.page_id, copy)
        for begin in range(0, len(rows), BLOCK):
            some = pages.take(rows[begin : begin + BLOCK])
            self.see(some.page_id, copy[rows[begin : begin + BLOCK]], some.texts(), some.last_visit)
        self.visited(pages.page_id, pages.last_visit)
        self.settle()

    def forget(self, page: IntArray) -> None:
        """The copies of these pages are gone."""
        self.copy[page] = 0
        self.copies.put(page, counted([""] * len(page), self.vocabulary))

    def settle(self) -> None:
        """Make curves and visibility anew if enough has changed."""
        held = np.flatnonzero(self.copy)
        made_of = self.among.documents if self.among is not None else 0
        if len(held) and (not made_of or self.since > REFRESH * made_of):
            counts = self.copies.take(held)
            self.among = Collection.of(counts, len(self.vocabulary))
            score = self._scores(counts, held)
            self.curves = curves(counts.term, score, len(self.vocabulary))
            self.since = 0
            self.looks[:] = self.visible[:] = 0.0
            self._look(held, counts)

    def _scores(self, counts: Counts, page: IntArray) -> FloatArray:
        if self.weight is not None:
            known = np.zeros(len(self))
            known[: len(self.weight)] = self.weight[: len(self)]
            return known[page[counts.texts()]]
        assert self.among is not None
        return scoring(self.by)(counts, self.among)

    def save(self, folder: Path) -> None:
        """Keep all of it, whole or not at all."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in COLUMNS}
        columns |= self.copies.save(folder)
        if self.among is not None:
            columns |= {
                "by": self.by,
                "vocabulary": self.vocabulary,
                "curves": self.curves,
                "since": self.since,
                "holding": self.among.holding,
                "among": (self.among.documents, self.among.length),
            }
        unfinished = folder / f"unfinished-{MEASURED}"
        np.savez(unfinished, mark=self.mark, **columns)
        unfinished.replace(folder / MEASURED)
        self.copies.tidy(folder)

    def load(self, folder: Path) -> None:
        """Take up what was kept, if it was of the same workload."""
        file = folder / MEASURED
        if not file.is_file():
            return
        with file.open("rb") as opened, np.load(opened) as kept:
            if str(kept["mark"]) != self.mark:
                return
            places = (kept[name] for name in ("begin", "many", "length", "where"))
            self.copies = Copies.load(folder, *places)
            for name in COLUMNS:
                setattr(self, name, kept[name])
            if "curves" in kept:
                self.curves, self.since = kept["curves"], int(kept["since"])
                total, length = kept["among"]
                self.among = Collection(int(total), kept["holding"], float(length))


#: What is kept of each page, and what it is of one without a copy.
COLUMNS = dict.fromkeys(("copy", "gain", "changes", "daily", "visible", "looks"), 0.0)
COLUMNS |= {"seen": np.nan}
