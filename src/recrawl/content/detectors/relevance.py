"""Do other queries find the page now?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
from numba import njit

from recrawl.content.queries import Workload, read_workload
from recrawl.content.terms import counted

if TYPE_CHECKING:
    from recrawl.model import BoolArray


@dataclass(kw_only=True)
class Relevance:
    """Changed when the page begins or ceases to match a query (Radinsky & Bennett 2013, §3.1).

    `queries` is a file of them; a page matches one if it holds all its words. Without queries
    nothing is searched for, and nothing changes.
    """

    name: ClassVar[str] = "relevance"
    needs: ClassVar[tuple[str, ...]] = ("text",)

    queries: str = ""
    workload_: ClassVar[Workload | None] = None

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        old, new = (table["text"].combine_chunks() for table in (before, after))
        unknown = np.asarray(old.is_null()) | np.asarray(new.is_null())
        differs = np.zeros(len(unknown), np.bool_)
        if self.queries:
            differs = self._differs(old, new)
        return pa.array(differs, pa.bool_(), mask=unknown)

    def _differs(self, old: pa.Array, new: pa.Array) -> BoolArray:
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
