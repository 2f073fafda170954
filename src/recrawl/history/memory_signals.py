"""Claims of change in memory, and how they fared: what the table `signals` is to a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.history.fold import DAY_US, NO_TIME
from recrawl.model import Signals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, Column, FloatArray, IntArray

    Times = NDArray[np.int64]

SUMS = ("changed", "missed", "changed_days", "false_claims", "quiet_days")


class MemorySignals:
    """The claims about a fixed set of pages; claims and visits come in the order of time."""

    def __init__(self, n_pages: int) -> None:
        self.n_pages = n_pages
        self._kinds: dict[str, ClaimsOfKind] = {}

    def add_claims(
        self, page: IntArray, kind: NDArray[np.object_], said: Times, seen: Times
    ) -> None:
        for name in dict.fromkeys(kind.tolist()):
            mine = kind == name
            claims = self._kinds.setdefault(name, ClaimsOfKind(self.n_pages))
            claims.add(page[mine], said[mine], seen[mine])

    def add_visits(self, page: IntArray, at: Times, days: FloatArray, changed: BoolArray) -> None:
        """Compare claims with compared visits, at most one for each page."""
        for claims in self._kinds.values():
            claims.compare(page, at, days, changed)

    def read(self, last_visit: Times) -> Signals | None:
        """All claims and how they fared; None if there are no claims."""
        names = sorted(self._kinds)
        tables = [self._kinds[name].read(last_visit) for name in names]
        if not tables:
            return None
        sizes = [len(table["page_id"]) for table in tables]
        columns = {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}
        return Signals(kind=np.repeat(np.array(names, dtype=object), sizes), **columns)


class ClaimsOfKind:
    """The claims of one kind of signal."""

    def __init__(self, n_pages: int) -> None:
        self.since = np.full(n_pages, NO_TIME)  #: when the first claim was read
        self.said = np.full(n_pages, NO_TIME)  #: the last change claimed
        self.sums = {name: np.zeros(n_pages) for name in SUMS}
        self.open: tuple[IntArray, Times] = (np.empty(0, np.int64), np.empty(0, np.int64))

    def add(self, page: IntArray, said: Times, seen: Times) -> None:
        """Add claims that were read after all before; one that was read already changes nothing."""
        new = said != self.said[page]
        page, said, seen = page[new], said[new], seen[new]
        first = self.since[page] == NO_TIME
        self.since[page[first]] = seen[first]
        self.said[page] = np.maximum(self.said[page], said)
        self.open = (np.append(self.open[0], page), np.append(self.open[1], said))

    def compare(self, page: IntArray, at: Times, days: FloatArray, changed: BoolArray) -> None:
        """Add compared visits to the sums, and drop the claims that they make old."""
        heard = (self.since[page] != NO_TIME) & (at > self.since[page])
        page, at, days, changed = page[heard], at[heard], days[heard], changed[heard]
        begin = np.full(len(self.since), np.iinfo(np.int64).max)
        begin[page] = at - np.rint(days * DAY_US).astype(np.int64)
        claims = self._after(begin)[page]
        added = (changed, changed & (claims == 0), changed * days, ~changed * claims)
        for name, amount in zip(SUMS, (*added, ~changed * days), strict=True):
            self.sums[name][page] += amount
        until = np.full(len(self.since), NO_TIME)
        until[page] = at
        news = self.open[1] > until[self.open[0]]
        self.open = (self.open[0][news], self.open[1][news])

    def _after(self, time: Times) -> FloatArray:
        """How many claims of each page name a time after its own here."""
        page, said = self.open
        return np.bincount(page, said > time[page], len(time)).astype(np.float64)

    def read(self, last_visit: Times) -> dict[str, Column]:
        """The columns of `Signals` but the kind, for the pages with a claim."""
        page = np.flatnonzero(self.said != NO_TIME)
        columns = {"page_id": page, "said": self.said[page] / 1e6}
        columns["claims"] = self._after(last_visit)[page]
        return columns | {name: column[page] for name, column in self.sums.items()}
