"""Which pages say the same as this one? The cosine of their bags of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from recrawl.errors import BadInput
from recrawl.model import Neighbours

if TYPE_CHECKING:
    from recrawl.model import IntArray
    from recrawl.papers.radinsky.series.snapshots import Snapshots

BATCH = 500  #: pages that are compared with all at a time


def alike(snapshots: Snapshots, k: int = 20, *, rows: IntArray | None = None) -> Neighbours:
    """The k pages whose last copies are most like that of each, or of each of `rows`.

    Fewer where no word is shared.
    """
    last = snapshots.last()
    words = snapshots.counts[np.maximum(last, 0)].tocsr()
    words.data = np.where(np.repeat(last, np.diff(words.indptr)) >= 0, words.data, 0.0)
    length = np.sqrt(np.asarray(words.multiply(words).sum(axis=1)).ravel())
    words.data /= np.repeat(np.maximum(length, 1e-300), np.diff(words.indptr))
    asked = np.arange(len(last)) if rows is None else np.asarray(rows)
    row, weight = np.full((len(asked), k), -1, np.int64), np.zeros((len(asked), k))
    other = words.T.tocsr()
    for begin in range(0, len(asked), BATCH):
        part = slice(begin, begin + BATCH)
        found = top(words[asked[part]] @ other, k, own=asked[part])
        row[part], weight[part] = found.row, np.minimum(found.weight, 1.0)
    return Neighbours(row, weight)


def top(near: Any, k: int, *, own: IntArray) -> Neighbours:
    """The k highest above 0 of each row of a sparse matrix but its `own` column."""
    if k < 1:
        raise BadInput(f"k, the number of neighbours, must be at least 1. Got {k}.")
    near = csr_matrix(near)
    owner = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    kept = (near.indices != own[owner]) & (near.data > 0)
    owner, column, data = owner[kept], near.indices[kept], near.data[kept]
    order = np.lexsort((column, -data, owner))
    owner, column, data = owner[order], column[order], data[order]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    row, weight = np.full((near.shape[0], k), -1, np.int64), np.zeros((near.shape[0], k))
    kept = place < k
    row[owner[kept], place[kept]], weight[owner[kept], place[kept]] = column[kept], data[kept]
    return Neighbours(row, weight)
