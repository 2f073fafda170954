"""Graph distance (§6.1): pages one link away, in either direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from recrawl.model import Neighbours
from recrawl.papers.radinsky.relatedness.search import highest

if TYPE_CHECKING:
    from recrawl.model import IntArray


def linked_pages(source: IntArray, target: IntArray, pages: int, k: int = 20) -> Neighbours:
    """Pages that a link joins; link i goes from row source[i] to row target[i]. Each weighs 1.

    Of more than k, those that share most neighbours with the page; the paper does not say.
    """
    apart = source != target
    ones = np.ones(int(apart.sum()), np.float32)
    graph = csr_matrix((ones, (source[apart], target[apart])), shape=(pages, pages))
    graph = ((graph + graph.T) > 0).astype(np.float32)
    best = highest(graph + (graph @ graph).multiply(graph), k, own=np.arange(pages))
    return Neighbours(best.row, (best.row >= 0).astype(np.float64))
