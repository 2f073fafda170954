"""Does the page match other queries now?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
from numba import njit
from scipy.sparse import csr_matrix

from recrawl.errors import BadInput
from recrawl.files import DAMAGED, verified_file
from recrawl.search.curves import scores_at
from recrawl.search.impact import saved_corpus, saved_lists
from recrawl.search.queries import read_workload
from recrawl.search.query_scores import score_queries
from recrawl.search.scoring import scoring
from recrawl.search.terms import count_terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import BoolArray, FloatArray, KeyArray
    from recrawl.search.query_scores import QueryLists
    from recrawl.search.scoring import CorpusStatistics
    from recrawl.search.terms import TermCounts
    from recrawl.search.workload import Workload


@dataclass(kw_only=True)
class Relevance:
    """Changed when the page starts or stops matching a query (Radinsky & Bennett 2013, §3.1).

    `queries` is a file of queries; a page matches a query if it holds all its words. Without
    queries nothing changes. With `top`, moving into or out of the first `top` places for a query
    is a change too. `measured` is then the file `index/measured.npz` of a store, which a plan with
    `--objective search` writes.
    """

    name: ClassVar[str] = "relevance"
    needs: ClassVar[tuple[str, ...]] = ("text",)

    queries: str = ""
    top: int = 0
    measured: str = ""
    workload_: ClassVar[Workload | None] = None
    top_scores_: ClassVar[TopScores | None] = None

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        old, new = (table["text"].combine_chunks() for table in (before, after))
        unknown = np.asarray(old.is_null()) | np.asarray(new.is_null())
        differs = np.zeros(len(unknown), np.bool_)
        if self.queries:
            differs |= self._matches_differ(old, new)
        if self.top:
            differs |= self._top_places_differ(old, new)
        return pa.array(differs, pa.bool_(), mask=unknown)

    def _matches_differ(self, old: pa.Array, new: pa.Array) -> BoolArray:
        if self.workload_ is None:
            self.workload_ = read_workload(self.queries)  # type: ignore[misc]  # on the instance
        workload = self.workload_
        assert workload is not None
        first, second = (count_terms(texts, workload.vocabulary) for texts in (old, new))
        order = np.argsort(workload.term, kind="stable")
        holding = np.repeat(np.arange(len(workload)), np.diff(workload.start))[order]
        begin = np.searchsorted(workload.term[order], np.arange(len(workload.vocabulary) + 1))
        differs = np.zeros(len(new), np.bool_)
        _compare(
            first.start, first.term, second.start, second.term, workload.start, workload.term,
            begin, holding, differs,
        )  # fmt: skip
        return differs

    def _top_places_differ(self, old: pa.Array, new: pa.Array) -> BoolArray:
        if self.top_scores_ is None:
            self.top_scores_ = TopScores.read(self.measured, self.top)  # type: ignore[misc]
        known = self.top_scores_
        assert known is not None
        before, after = (known.reached_by(texts) for texts in (old, new))
        return np.asarray((before != after).getnnz(axis=1) > 0)


@dataclass(frozen=True)
class TopScores:
    """The score that a page needs for a top place in the answer to each query."""

    vocabulary: KeyArray
    lists: QueryLists
    corpus: CorpusStatistics
    score: Callable[[TermCounts, CorpusStatistics], FloatArray]
    needed: FloatArray  #: by query

    @staticmethod
    def read(file: str, top: int) -> TopScores:
        try:
            with verified_file(Path(file)) as opened, np.load(opened) as saved:
                score, needed = scoring(str(saved["by"])), scores_at(top, saved["curves"])
                lists, corpus = saved_lists(saved), saved_corpus(saved)
                return TopScores(saved["vocabulary"], lists, corpus, score, needed)
        except DAMAGED as error:
            raise BadInput(
                "relevance: top needs measured=STORE/index/measured.npz, which `recrawl plan STORE "
                f"--objective search --queries FILE` writes. Got {file!r}: {error}."
            ) from error

    def reached_by(self, texts: pa.Array) -> csr_matrix:
        """The queries (columns) for which each text (row) has a top place."""
        counts = count_terms(texts, self.vocabulary)
        scores = score_queries(counts, self.score(counts, self.corpus), self.lists)
        is_top = scores.score >= self.needed[scores.query]
        return csr_matrix((is_top, scores.query, scores.start), (len(texts), len(self.needed)))


@njit(cache=True)
def _compare(old_start, old_term, new_start, new_term, first, term, begin, holding, differs):  # type: ignore[no-untyped-def]
    """Only queries with a term that was added or removed can start or stop matching."""
    copies = np.zeros((len(begin) - 1, 2), np.bool_)
    for row in range(len(differs)):
        old = old_term[old_start[row] : old_start[row + 1]]
        new = new_term[new_start[row] : new_start[row + 1]]
        copies[old, 0] = True
        copies[new, 1] = True
        for held in (old, new):
            for t in held:
                if differs[row] or copies[t, 0] == copies[t, 1]:
                    continue
                for query in holding[begin[t] : begin[t + 1]]:
                    every = term[first[query] : first[query + 1]]
                    if copies[every, 0].all() != copies[every, 1].all():
                        differs[row] = True
        copies[old] = False
        copies[new] = False
