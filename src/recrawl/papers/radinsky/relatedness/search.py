"""Parts that the searches of this folder share: threads, ranking, and the result."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from scipy.sparse import csr_matrix

from recrawl.errors import BadInput
from recrawl.model import Neighbours, owners

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from recrawl.model import FloatArray, IntArray

MAX_CANDIDATES = 400  #: pages compared with each page: those that share most words with it
INDEX_WORDS = 64  #: words of a page by which candidates are found: those of highest TF-IDF
CHUNKS = 64
THREADS = 2


def search_all(
    search: Callable[[IntArray, IntArray, FloatArray], None], asked: IntArray, k: int
) -> tuple[IntArray, FloatArray]:
    """Rows and values of the k best pages for each page asked, in threads; row -1 if fewer.

    `search(some, row, value)` fills in those of some of the pages asked.
    """
    n = len(asked)
    row, value = np.full((n, k), -1, np.int64), np.zeros((n, k))
    edges = np.linspace(0, n, min(n, CHUNKS) + 1).astype(int)
    with ThreadPoolExecutor(THREADS) as pool:
        jobs = [
            pool.submit(search, asked[a:b], row[a:b], value[a:b])
            for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
        for job in jobs:
            job.result()
    return row, value


def as_neighbours(row: IntArray, weight: FloatArray) -> Neighbours:
    """Neighbours without those of weight 0."""
    kept = (row >= 0) & (weight > 0)
    return Neighbours(np.where(kept, row, -1), np.where(kept, weight, 0.0))


def highest(similarity: Any, k: int, *, own: IntArray) -> Neighbours:
    """The k highest values above 0 in each row of a sparse matrix, except its `own` column."""
    if k < 1:
        raise BadInput(f"k, the number of neighbours, must be at least 1. Got {k}.")
    similarity = csr_matrix(similarity)
    page = owners(similarity.indptr)
    kept = (similarity.indices != own[page]) & (similarity.data > 0)
    page, other, value = page[kept], similarity.indices[kept], similarity.data[kept]
    order = np.lexsort((other, -value, page))
    page, other, value = page[order], other[order], value[order]
    rank = np.arange(len(page)) - np.searchsorted(page, page)
    shape = (similarity.shape[0], k)
    row, weight = np.full(shape, -1, np.int64), np.zeros(shape)
    kept = rank < k
    row[page[kept], rank[kept]], weight[page[kept], rank[kept]] = other[kept], value[kept]
    return Neighbours(row, weight)


@njit(cache=True, nogil=True)
def insert(row, value, n, page, worth):  # type: ignore[no-untyped-def]
    """Insert a page into the n best so far, highest first; returns the new n."""
    if n < len(row):
        n += 1
    elif worth <= value[n - 1]:
        return n
    at = n - 1
    while at > 0 and value[at - 1] < worth:
        row[at], value[at] = row[at - 1], value[at - 1]
        at -= 1
    row[at], value[at] = page, worth
    return n
