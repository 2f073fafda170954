"""Graph distance (§6.1): pages one link away, in either direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from recrawl.model import Neighbours
from recrawl.papers.radinsky.relatedness.search import highest

if TYPE_CHECKING:
    from recrawl.model import IntArray


def linked_pages(
    source: IntArray, target: IntArray, pages: int, k: int = 20, *, rows: IntArray | None = None
) -> Neighbours:
    """Pages that a link joins to each page, or to each of `rows`. Each weighs 1.

    Link i goes from row source[i] to row target[i]. Of more than k, those that share most
    neighbours with the page; the paper does not say.
    """
    apart = source != target
    ones = np.ones(int(apart.sum()), np.float32)
    graph = csr_matrix((ones, (source[apart], target[apart])), shape=(pages, pages))
    graph = ((graph + graph.T) > 0).astype(np.float32)
    own = np.arange(pages) if rows is None else np.asarray(rows)
    near = graph[own]
    best = highest(near + (near @ graph).multiply(near), k, own=own)
    return Neighbours(best.row, (best.row >= 0).astype(np.float64))
