"""Content similarity (§6.2): the cosine of bags of words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import Neighbours
from recrawl.papers.radinsky.relatedness.search import highest

if TYPE_CHECKING:
    from recrawl.model import IntArray
    from recrawl.papers.radinsky.series.snapshots import Snapshots

BATCH = 500  #: pages compared with all others at a time


def most_similar(snapshots: Snapshots, k: int = 20, *, rows: IntArray | None = None) -> Neighbours:
    """The k pages with the most similar last copies, for each page or each of `rows`.

    Fewer where not enough pages share a word.
    """
    last = snapshots.last()
    words = snapshots.counts[np.maximum(last, 0)].tocsr()
    words.data = np.where(np.repeat(last, np.diff(words.indptr)) >= 0, words.data, 0.0)
    length = np.sqrt(np.asarray(words.multiply(words).sum(axis=1)).ravel())
    words.data /= np.repeat(np.maximum(length, 1e-300), np.diff(words.indptr))
    rows = np.arange(len(last)) if rows is None else np.asarray(rows)
    row, weight = np.full((len(rows), k), -1, np.int64), np.zeros((len(rows), k))
    transposed = words.T.tocsr()
    for begin in range(0, len(rows), BATCH):
        batch = slice(begin, begin + BATCH)
        best = highest(words[rows[batch]] @ transposed, k, own=rows[batch])
        row[batch], weight[batch] = best.row, np.minimum(best.weight, 1.0)
    return Neighbours(row, weight)
