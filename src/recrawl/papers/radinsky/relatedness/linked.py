"""Which pages are one link away from a page?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from recrawl.model import Neighbours
from recrawl.papers.radinsky.relatedness.cosine import top

if TYPE_CHECKING:
    from recrawl.model import IntArray


def joined(source: IntArray, target: IntArray, pages: int, k: int = 20) -> Neighbours:
    """Pages that link i, from row source[i] to row target[i], joins; each weighs 1.

    Of more than k those that share most neighbours with the page, for the paper does not say
    (Radinsky & Bennett 2013).
    """
    apart = source != target
    ones = np.ones(int(apart.sum()), np.float32)
    graph = csr_matrix((ones, (source[apart], target[apart])), shape=(pages, pages))
    graph = ((graph + graph.T) > 0).astype(np.float32)
    found = top(graph + (graph @ graph).multiply(graph), k, own=np.arange(pages))
    return Neighbours(found.row, (found.row >= 0).astype(np.float64))
