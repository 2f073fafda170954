"""Do other queries find the page now?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numba import njit
from scipy.sparse import csr_matrix

from recrawl.errors import BadInput
from recrawl.search.curves import least
from recrawl.search.queries import Workload, read_workload
from recrawl.search.scoring import Collection, scoring
from recrawl.search.terms import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import BoolArray, FloatArray, KeyArray
    from recrawl.search.terms import Counts


@dataclass(kw_only=True)
class Relevance:
    """Changed when the page begins or ceases to match a query (Radinsky & Bennett 2013, §3.1).

    `queries` is a file of them; a page matches one if it holds all its words. Without queries
    nothing is searched for, and nothing changes. With `top` it is also a change that the page moves
    into or out of so many first places for a word; `measured` is the file that tells what these
    ask, `index/measured.npz` of a store once it was planned for `--objective search`.
    """

    name: ClassVar[str] = "relevance"
    needs: ClassVar[tuple[str, ...]] = ("text",)

    queries: str = ""
    top: int = 0
    measured: str = ""
    workload_: ClassVar[Workload | None] = None
    standard_: ClassVar[Standard | None] = None

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        old, new = (table["text"].combine_chunks() for table in (before, after))
        unknown = np.asarray(old.is_null()) | np.asarray(new.is_null())
        differs = np.zeros(len(unknown), np.bool_)
        if self.queries:
            differs |= self._matches_others(old, new)
        if self.top:
            differs |= self._moves(old, new)
        return pa.array(differs, pa.bool_(), mask=unknown)

    def _matches_others(self, old: pa.Array, new: pa.Array) -> BoolArray:
        if self.workload_ is None:
            self.workload_ = read_workload(self.queries)  # type: ignore[misc]  # of this one
        asked = self.workload_
        assert asked is not None
        first, second = (counted(texts, asked.vocabulary) for texts in (old, new))
        order = np.argsort(asked.term, kind="stable")
        holding = np.repeat(np.arange(len(asked)), np.diff(asked.start))[order]
        begin = np.searchsorted(asked.term[order], np.arange(len(asked.vocabulary) + 1))
        found = np.zeros(len(new), np.bool_)
        _compare(
            first.start, first.term, second.start, second.term, asked.start, asked.term, begin,
            holding, found,
        )  # fmt: skip
        return found

    def _moves(self, old: pa.Array, new: pa.Array) -> BoolArray:
        if self.standard_ is None:
            self.standard_ = Standard.read(self.measured, self.top)  # type: ignore[misc]
        standard = self.standard_
        assert standard is not None
        before, after = (standard.first(texts) for texts in (old, new))
        return np.asarray((before != after).getnnz(axis=1) > 0)


@dataclass(frozen=True)
class Standard:
    """What the first places of the answers to words ask."""

    vocabulary: KeyArray
    among: Collection
    score: Callable[[Counts, Collection], FloatArray]
    least: FloatArray  #: score of each word

    @staticmethod
    def read(file: str, top: int) -> Standard:
        try:
            with Path(file).open("rb") as opened, np.load(opened) as kept:
                documents, length = kept["among"]
                among = Collection(int(documents), kept["holding"], float(length))
                score, needed = scoring(str(kept["by"])), least(kept["curves"], top)
                return Standard(kept["vocabulary"], among, score, needed)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise BadInput(
                "relevance: top needs measured=STORE/index/measured.npz, which `recrawl plan STORE "
                f"--objective search --queries FILE` writes. Got {file!r}: {error}."
            ) from error

    def first(self, texts: pa.Array) -> csr_matrix:
        """For which words each text is in a first place."""
        counts = counted(texts, self.vocabulary)
        high = self.score(counts, self.among) >= self.least[counts.term]
        return csr_matrix((high, counts.term, counts.start), (len(texts), len(self.vocabulary)))


@njit(cache=True)
def _compare(old_start, old_term, new_start, new_term, first, term, begin, holding, found):  # type: ignore[no-untyped-def]
    """Only queries that hold a term which came or went may have begun or ceased to match."""
    copies = np.zeros((len(begin) - 1, 2), np.bool_)
    for row in range(len(found)):
        old = old_term[old_start[row] : old_start[row + 1]]
        new = new_term[new_start[row] : new_start[row + 1]]
        copies[old, 0] = True
        copies[new, 1] = True
        for held in (old, new):
            for t in held:
                if found[row] or copies[t, 0] == copies[t, 1]:
                    continue
                for query in holding[begin[t] : begin[t + 1]]:
                    every = term[first[query] : first[query + 1]]
                    if copies[every, 0].all() != copies[every, 1].all():
                        found[row] = True
        copies[old] = False
        copies[new] = False
