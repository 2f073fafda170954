"""Which pages are one link away from a page?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from recrawl.model import Neighbours
from recrawl.related.cosine import top

if TYPE_CHECKING:
    from recrawl.model import IntArray, KeyArray, Outlinks

CROWD = 50  #: links to a page beyond which it is everybody's neighbour, and so nobody's


def targets(links: Outlinks, key: KeyArray) -> tuple[IntArray, IntArray]:
    """Links to known pages: the place of the linking page in `links`, and the row of the target."""
    page = np.repeat(np.arange(len(links.start) - 1), np.diff(links.start))
    if not len(key):
        return page[:0], page[:0]
    order = np.argsort(key)
    place = np.minimum(np.searchsorted(key, links.target, sorter=order), len(order) - 1)
    there = key[order[place]] == links.target
    return page[there], order[place[there]]


def linked(page: IntArray, target: IntArray, pages: int, often: IntArray, k: int) -> Neighbours:
    """The k targets of each page that are linked to least `often`; `target` never the page.

    What few link to says most.
    """
    few = often[target] <= CROWD
    page, target = page[few], target[few]
    order = np.lexsort((target, often[target], page))
    page, target = page[order], target[order]
    rank = np.arange(len(page)) - np.searchsorted(page, page)
    page, target, rank = page[rank < k], target[rank < k], rank[rank < k]
    row, weight = np.full((pages, k), -1), np.zeros((pages, k))
    row[page, rank], weight[page, rank] = target, 1.0
    return Neighbours(row, weight)


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
