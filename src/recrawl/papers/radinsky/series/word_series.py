"""TF-IDF of each word of each page, day by day: Dyn(w, d) of §6.3.

Most words of a page never move, so a series is kept only for words that do. On days without a
snapshot, a page is taken to be unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray
    from recrawl.papers.radinsky.series.snapshots import Snapshots


@dataclass(frozen=True)
class WordSeries:
    """The words of page p are word[start[p]:start[p + 1]], ascending; other columns likewise."""

    start: IntArray
    word: NDArray[np.int32]
    weight: FloatArray  #: ω(w): TF-IDF in the last copy; 0 if it lacks the word
    level: FloatArray  #: mean TF-IDF over the days
    slot: IntArray  #: row of `series` for a word that moves, else -1
    series: NDArray[np.float32]  #: one column per day
    words: int  #: size of the vocabulary

    @property
    def pages(self) -> int:
        return len(self.start) - 1

    def inverted(self, kept: BoolArray) -> tuple[IntArray, IntArray]:
        """Inverted index of the kept entries: where the list of each word begins; the entries."""
        entries = np.flatnonzero(kept)
        entries = entries[np.argsort(self.word[entries], kind="stable")]
        return np.searchsorted(self.word[entries], np.arange(self.words + 1)), entries


def word_series(snapshots: Snapshots) -> WordSeries:
    """TF-IDF series of the words of each page."""
    copy, counts, idf = _filled(snapshots.copy), snapshots.counts, snapshots.idf()
    days = _days_shown(copy, counts.shape[0])
    total = days @ counts  # over the days
    total.sort_indices()
    squares = days @ counts.multiply(counts).tocsr()
    squares.sort_indices()
    word, start = total.indices, total.indptr.astype(np.int64)
    # Exact, since these are integers: a series is constant iff mean square = square of mean.
    moves = squares.data * snapshots.days != total.data**2
    slot = np.where(moves, np.cumsum(moves) - 1, -1)
    series = np.zeros((int(moves.sum()), snapshots.days), np.float32)
    last = np.zeros(len(word))
    table = (counts.indptr, counts.indices, counts.data)
    _fill(copy, *table, start, word, slot, series, last, counts.shape[1])
    series *= idf[word[moves]][:, None].astype(np.float32)
    level = total.data / max(snapshots.days, 1) * idf[word]
    return WordSeries(start, word, last * idf[word], level, slot, series, counts.shape[1])


def _days_shown(copy: IntArray, copies: int) -> Any:
    """Number of days on which each page shows each copy, pages × copies (SciPy CSR)."""
    page, day = np.nonzero(copy >= 0)
    where = (page, copy[page, day])
    return csr_matrix((np.ones(len(page)), where), shape=(len(copy), copies))


def _filled(copy: IntArray) -> IntArray:
    """The last copy known on each day; on days before the first copy, the first."""
    days = np.arange(copy.shape[1])
    known = np.maximum.accumulate(np.where(copy >= 0, days, -1), axis=1)
    known = np.where(known < 0, np.argmax(copy >= 0, axis=1)[:, None], known)
    return np.take_along_axis(copy, known, axis=1)


@njit(cache=True)
def _fill(copy, begin, word, count, start, page_word, slot, series, last, words):  # type: ignore[no-untyped-def]
    """Fill the series of words that move, and the counts of all words on the last day."""
    place = np.full(words, -1)
    for page in range(len(copy)):
        for entry in range(start[page], start[page + 1]):
            place[page_word[entry]] = entry
        for day in range(copy.shape[1]):
            row = copy[page, day]
            if row < 0:
                continue
            for at in range(begin[row], begin[row + 1]):
                entry = place[word[at]]
                last[entry] = count[at] if day == copy.shape[1] - 1 else 0.0
                if slot[entry] >= 0:
                    series[slot[entry], day] = count[at]
