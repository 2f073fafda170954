"""What does each page contribute to search answers, and what did its refreshes gain?

When a copy is replaced, its scores for queries before and after give the gain of the refresh.
Curves, document frequencies and visibility are recomputed once enough copies changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from recrawl.files import signed_file, verified_file
from recrawl.model import DAY
from recrawl.search.answers import answer_queries
from recrawl.search.gain import estimate_gains
from recrawl.search.link_scores import LINK_SCORES, links_between
from recrawl.search.page_terms import PageTerms
from recrawl.search.query_scores import QueryLists, score_queries
from recrawl.search.scoring import CorpusStatistics, scoring
from recrawl.search.terms import count_terms
from recrawl.search.views import (
    DEFAULT_EXPONENT,
    estimate_views,
    view_exponent,
    view_probabilities,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray, KeyArray, Pages
    from recrawl.search.terms import TermCounts
    from recrawl.search.workload import Workload

#: New copies, as a share of those that the curves describe, before a refit. Scores by links are
#: recomputed with the curves, so they are refitted sooner: until then a new page has no score.
REFIT_SHARE, LINKS_REFIT_SHARE = 1.0, 0.1
FILE = "measured.npz"
TEXTS_READ = 2_000  #: texts in memory at a time
MIN_DAYS = 1.0 / 86_400  #: between two visits
#: What is kept of each page: the name in the file, and the value of a page without a copy.
COLUMNS = {
    "copy": ("copy", 0.0),
    "visited_at": ("seen", np.nan),
    "gain": ("gain", 0.0),
    "changes": ("changes", 0.0),
    "daily_gain": ("daily", 0.0),
    "visibility": ("visible", 0.0),
    "views": ("looks", 0.0),
    "page_score": ("page_score", 0.0),
}


def _empty() -> FloatArray:
    return np.empty(0)


@dataclass
class SearchImpact:
    """What pages mean to the searchers of one workload; page i is row i."""

    workload: Workload
    by: str = "tfidf"
    exponent: float = DEFAULT_EXPONENT
    terms: PageTerms = field(default_factory=PageTerms)
    copy: KeyArray = field(default_factory=lambda: np.empty(0, np.uint64))  #: its key; 0 for none
    visited_at: FloatArray = field(default_factory=_empty)  #: last visit
    gain: FloatArray = field(default_factory=_empty)  #: sum over all refreshes
    changes: FloatArray = field(default_factory=_empty)  #: refreshes that changed the copy
    daily_gain: FloatArray = field(default_factory=_empty)  #: sum of gain / days since the visit
    visibility: FloatArray = field(default_factory=_empty)  #: what the copy contributes to answers
    views: FloatArray = field(default_factory=_empty)  #: how often it is viewed in them
    page_score: FloatArray = field(default_factory=_empty)  #: by its links, if `by` says so
    corpus: CorpusStatistics | None = None
    lists: QueryLists | None = None  #: for the terms of `corpus`
    curves: NDArray[np.float32] | None = None  #: by query
    since_fit: int = 0  #: copies that came since the curves were fitted

    @staticmethod
    def of(workload: Workload, by: str = "tfidf") -> SearchImpact:
        """Empty: no copy was seen yet."""
        return SearchImpact(workload, by, view_exponent(workload))

    @property
    def key(self) -> str:
        """Digest of the workload and of how scores are made."""
        digest = xxhash.xxh3_64(f"whole queries {self.by} {self.exponent}".encode())
        queries = self.workload
        for column in (queries.vocabulary, queries.frequency, *queries.terms):
            digest.update(column.tobytes())
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.copy)

    def _grow(self, pages: int) -> None:
        more = pages - len(self)
        if more <= 0:
            return
        for name, (_, value) in COLUMNS.items():
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.full(more, value, column.dtype)]))
        self.terms.grow(pages)

    def outdated(self, page: IntArray, copy: KeyArray) -> IntArray:
        """Rows of these pages whose copy is not the one held here."""
        self._grow(int(page.max(initial=-1)) + 1)
        return np.flatnonzero((self.copy[page] != copy) & (copy != 0))

    def add_copies(self, page: IntArray, copy: KeyArray, texts: pa.Array, at: FloatArray) -> None:
        """Take in new copies of pages, each page once; estimate what replacing the old ones gains.

        `copy` is the key of each copy, `at` when it was fetched.
        """
        if not len(page):
            return
        self._grow(int(page.max()) + 1)
        new = count_terms(texts, self.workload.vocabulary)
        had = self.copy[page] != 0
        if self.curves is not None:
            self._add_gains(page[had], at[had], new if had.all() else new.take(np.flatnonzero(had)))
            self._set_views(page[~had], new.take(np.flatnonzero(~had)))
        self.copy[page] = copy
        self.terms.put(page, new)
        self.since_fit += len(page)

    def _add_gains(self, page: IntArray, at: FloatArray, new: TermCounts) -> None:
        assert self.curves is not None
        assert self.lists is not None
        old = self.terms.take(page)
        before, after = ((counts, self._scores(counts, page)) for counts in (old, new))
        gain, views, visibility = estimate_gains(
            before, after, self.lists, self.workload.frequency, self.curves, self.exponent
        )
        days = np.maximum((at - self.visited_at[page]) / DAY, MIN_DAYS)
        self.gain[page] += gain
        self.daily_gain[page] += gain / np.where(np.isnan(days), np.inf, days)
        self.changes[page] += 1.0
        self.views[page] = np.maximum(self.views[page] + views, 0.0)
        self.visibility[page] = np.maximum(self.visibility[page] + visibility, 0.0)

    def _set_views(self, page: IntArray, counts: TermCounts) -> None:
        assert self.curves is not None
        assert self.lists is not None
        scores = score_queries(counts, self._scores(counts, page), self.lists)
        self.views[page], self.visibility[page] = estimate_views(
            scores, self.workload.frequency, self.curves, self.exponent
        )

    def record_visits(self, page: IntArray, at: FloatArray) -> None:
        """Note when pages were last visited, with or without a change."""
        self.visited_at[page] = at

    def update(self, pages: Pages) -> None:
        """Take in all copies that are new in the history of these pages."""
        last = np.fmax(pages.last_change, pages.first_visit)
        copy = np.where(np.isnan(last), np.uint64(0), last.view(np.uint64))
        rows = self.outdated(pages.page_id, copy)
        for begin in range(0, len(rows), TEXTS_READ):
            block = rows[begin : begin + TEXTS_READ]
            some = pages.take(block)
            self.add_copies(some.page_id, copy[block], some.texts(), some.last_visit)
        self.record_visits(pages.page_id, pages.last_visit)
        self.refit_if_due(pages)

    def remove_copies(self, page: IntArray) -> None:
        """Forget the copies of these pages."""
        self.copy[page] = 0
        self.terms.put(page, count_terms([""] * len(page), self.workload.vocabulary))

    def refit_if_due(self, pages: Pages | None = None) -> None:
        """Recompute curves and visibility if enough copies changed.

        Scores by links are recomputed too, from the links of `pages`; without them they stay.
        """
        held = np.flatnonzero(self.copy)
        fitted_on = self.corpus.documents if self.corpus is not None else 0
        share = LINKS_REFIT_SHARE if self._scores_pages else REFIT_SHARE
        if len(held) and (not fitted_on or self.since_fit > share * fitted_on):
            if self._scores_pages and pages is not None:
                self._grow(int(pages.page_id.max(initial=-1)) + 1)
                score = LINK_SCORES[self.by](*links_between(pages), len(pages))
                self.page_score[pages.page_id] = score
            self._refit(held)

    def _refit(self, held: IntArray) -> None:
        """Fit the curves to the copies held of these pages."""
        queries, counts = self.workload, self.terms.take(held)
        self.corpus = CorpusStatistics.of(counts, len(queries.vocabulary))
        self._make_lists()
        assert self.lists is not None
        p_view = view_probabilities(len(held), self.exponent)
        self.views[:] = self.visibility[:] = 0.0
        self.curves, self.views[held], self.visibility[held] = answer_queries(
            counts, self._scores(counts, held), self.lists, p_view, queries.frequency
        )
        self.since_fit = 0

    @property
    def _scores_pages(self) -> bool:
        """Whether a page has the same score for all terms."""
        return self.by in LINK_SCORES

    def _make_lists(self) -> None:
        assert self.corpus is not None
        self.lists = QueryLists.of(
            self.workload.terms, self.corpus.holding, mean=self._scores_pages
        )

    def _scores(self, counts: TermCounts, page: IntArray) -> FloatArray:
        if self._scores_pages:
            return self.page_score[page[counts.texts()]]
        assert self.corpus is not None
        return scoring(self.by)(counts, self.corpus)

    def save(self, folder: Path) -> None:
        """Write everything, whole or not at all."""
        columns: dict[str, Any] = {key: getattr(self, name) for name, (key, _) in COLUMNS.items()}
        columns |= self.terms.save(folder)
        if self.corpus is not None:
            columns |= {
                "by": self.by,
                "vocabulary": self.workload.vocabulary,
                "query_start": self.workload.start,
                "query_term": self.workload.term,
                "curves": self.curves,
                "since": self.since_fit,
                "holding": self.corpus.holding,
                "among": (self.corpus.documents, self.corpus.length),
            }
        with signed_file(folder / FILE) as file:
            np.savez(file, mark=self.key, **columns)
        self.terms.tidy(folder)

    def load(self, folder: Path) -> None:
        """Read what was saved, if it is of the same workload."""
        file = folder / FILE
        if not file.is_file():
            return
        with verified_file(file) as opened, np.load(opened, allow_pickle=False) as saved:
            if str(saved["mark"]) != self.key:
                return
            self.terms = PageTerms.load(
                folder, *(saved[name] for name in ("begin", "many", "length", "where", "pairs"))
            )
            for name, (key, _) in COLUMNS.items():
                setattr(self, name, saved[key])
            if "curves" in saved:
                self.curves, self.since_fit = saved["curves"], int(saved["since"])
                self.corpus = saved_corpus(saved)
                self._make_lists()


def saved_corpus(saved: Mapping[str, Any]) -> CorpusStatistics:
    """The corpus statistics in a file that `SearchImpact.save` wrote."""
    documents, length = saved["among"]
    return CorpusStatistics(int(documents), saved["holding"], float(length))


def saved_lists(saved: Mapping[str, Any]) -> QueryLists:
    """The queries in a file that `SearchImpact.save` wrote."""
    return QueryLists.of((saved["query_start"], saved["query_term"]), saved["holding"])
