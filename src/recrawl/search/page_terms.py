"""The terms of our copy of each page, in memory and on disk.

The terms of a new copy are appended, so an update costs what changed. Terms of replaced copies are
dropped once they are half of all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from recrawl.files import sync
from recrawl.search.terms import TermCounts

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from recrawl.model import IntArray

FILE = "terms-{}.bin"


def _empty() -> IntArray:
    return np.empty(0, np.int64)


@dataclass
class PageTerms:
    """Page i holds pairs[begin[i]:begin[i] + n_terms[i]], each a term and its count."""

    begin: IntArray = field(default_factory=_empty)
    n_terms: IntArray = field(default_factory=_empty)
    length: IntArray = field(default_factory=_empty)  #: words of the copy
    pairs: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 2), np.int32))
    used: int = 0  #: pairs written
    saved: int = 0  #: pairs in the file
    packed: int = 0  #: times that old pairs were dropped; part of the file's name

    def grow(self, pages: int) -> None:
        """Make room for `pages` pages; new ones have no terms."""
        more = np.zeros(pages - len(self.begin), np.int64)
        for name in ("begin", "n_terms", "length"):
            setattr(self, name, np.concatenate([getattr(self, name), more]))

    def take(self, page: IntArray) -> TermCounts:
        """The terms of some pages, in the order given."""
        start = np.concatenate([[0], np.cumsum(self.n_terms[page])])
        term, count = np.empty((2, int(start[-1])), np.int32)
        _read(self.pairs, self.begin[page], start, term, count)
        return TermCounts(start, term, count, self.length[page])

    def put(self, page: IntArray, new: TermCounts) -> None:
        """Replace the terms of these pages; each page occurs once."""
        self.length[page], self.n_terms[page] = new.length, np.diff(new.start)
        self.begin[page] = self.used + new.start[:-1]
        self._append(new)
        if self.used > 2 * self.n_terms.sum():
            held = self.take(np.arange(len(self.begin)))
            self.begin, self.used, self.saved = held.start[:-1].copy(), 0, 0
            self.packed += 1
            self._append(held)

    def _append(self, new: TermCounts) -> None:
        end = self.used + len(new.term)
        if end > len(self.pairs):
            longer = np.empty((end + end // 2, 2), np.int32)
            longer[: self.used] = self.pairs[: self.used]
            self.pairs = longer
        self.pairs[self.used : end, 0], self.pairs[self.used : end, 1] = new.term, new.count
        self.used = end

    def save(self, folder: Path) -> dict[str, NDArray[Any]]:
        """Write the new pairs; returns the columns that `load` needs to find them."""
        with (folder / FILE.format(self.packed)).open("r+b" if self.saved else "wb") as file:
            file.seek(self.saved * self.pairs.itemsize * 2)
            file.write(self.pairs[self.saved : self.used].tobytes())
            sync(file)
        self.saved = self.used
        where = np.array([self.used, self.packed])
        columns = {"begin": self.begin, "many": self.n_terms, "length": self.length}
        return columns | {"where": where, "pairs": _digest(self.pairs[: self.used])}

    def tidy(self, folder: Path) -> None:
        """Remove files that are no longer used."""
        for file in folder.glob(FILE.format("*")):
            if file.name != FILE.format(self.packed):
                file.unlink()

    @staticmethod
    def load(
        folder: Path,
        begin: IntArray,
        many: IntArray,
        length: IntArray,
        where: IntArray,
        digest: NDArray[np.uint8],
    ) -> PageTerms:
        """What `save` wrote; raises ValueError if the file of pairs is another one."""
        used, packed = where.tolist()
        pairs = np.fromfile(folder / FILE.format(packed), np.int32, 2 * used).reshape(used, 2)
        if not np.array_equal(_digest(pairs), digest):
            raise ValueError("the file of terms was changed since")
        return PageTerms(begin, many, length, pairs, used, used, packed)


def _digest(pairs: NDArray[np.int32]) -> NDArray[np.uint8]:
    return np.frombuffer(blake2b(pairs.tobytes()).digest(), np.uint8)


@njit(cache=True, nogil=True)
def _read(pairs, begin, start, term, count):  # type: ignore[no-untyped-def]
    for row in range(len(begin)):
        for i in range(start[row + 1] - start[row]):
            term[start[row] + i], count[start[row] + i] = pairs[begin[row] + i]
