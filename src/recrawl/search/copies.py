"""Which terms does our copy of each page hold? A new copy's are added at the end.

So a change costs what it changed, in memory as on disk; what no copy holds any more is thrown out
once it is half of all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.search.terms import Counts

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from recrawl.model import IntArray

NAME = "terms-{}.bin"


def _none() -> IntArray:
    return np.empty(0, np.int64)


@dataclass
class Copies:
    """Page i holds pairs[begin[i]:begin[i] + many[i]], each a term and how often."""

    begin: IntArray = field(default_factory=_none)
    many: IntArray = field(default_factory=_none)
    length: IntArray = field(default_factory=_none)  #: words of the copy
    pairs: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 2), np.int32))
    used: int = 0  #: pairs that are written
    saved: int = 0  #: of those, in the file
    packed: int = 0  #: how often old pairs were thrown out; names the file

    def grow(self, pages: int) -> None:
        """Make room for more pages, without copies yet."""
        more = np.zeros(pages - len(self.begin), np.int64)
        for name in ("begin", "many", "length"):
            setattr(self, name, np.concatenate([getattr(self, name), more]))

    def take(self, page: IntArray) -> Counts:
        """What the copies of some pages hold."""
        start = np.concatenate([[0], np.cumsum(self.many[page])])
        term, count = np.empty((2, int(start[-1])), np.int32)
        _read(self.pairs, self.begin[page], start, term, count)
        return Counts(start, term, count, self.length[page])

    def put(self, page: IntArray, new: Counts) -> None:
        """These pages, each once, have new copies."""
        self.length[page], self.many[page] = new.length, np.diff(new.start)
        self.begin[page] = self.used + new.start[:-1]
        self._write(new)
        if self.used > 2 * self.many.sum():
            held = self.take(np.arange(len(self.begin)))
            self.begin, self.used, self.saved = held.start[:-1].copy(), 0, 0
            self.packed += 1
            self._write(held)

    def _write(self, new: Counts) -> None:
        end = self.used + len(new.term)
        if end > len(self.pairs):
            longer = np.empty((end + end // 2, 2), np.int32)
            longer[: self.used] = self.pairs[: self.used]
            self.pairs = longer
        self.pairs[self.used : end, 0], self.pairs[self.used : end, 1] = new.term, new.count
        self.used = end

    def save(self, folder: Path) -> dict[str, IntArray]:
        """Write the pairs that came since; whoever keeps what this returns can load them."""
        with (folder / NAME.format(self.packed)).open("r+b" if self.saved else "wb") as file:
            file.seek(self.saved * self.pairs.itemsize * 2)
            file.write(self.pairs[self.saved : self.used].tobytes())
        self.saved = self.used
        where = np.array([self.used, self.packed])
        return {"begin": self.begin, "many": self.many, "length": self.length, "where": where}

    def tidy(self, folder: Path) -> None:
        """Remove files that are not used any more."""
        for file in folder.glob(NAME.format("*")):
            if file.name != NAME.format(self.packed):
                file.unlink()

    @staticmethod
    def load(
        folder: Path, begin: IntArray, many: IntArray, length: IntArray, where: IntArray
    ) -> Copies:
        used, packed = where.tolist()
        pairs = np.fromfile(folder / NAME.format(packed), np.int32, 2 * used).reshape(used, 2)
        return Copies(begin, many, length, pairs, used, used, packed)


@njit(cache=True, nogil=True)
def _read(pairs, begin, start, term, count):  # type: ignore[no-untyped-def]
    for row in range(len(begin)):
        for i in range(start[row + 1] - start[row]):
            term[start[row] + i], count[start[row] + i] = pairs[begin[row] + i]
