"""What is a page worth, whatever is asked? Links to it, or PageRank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.sparse import csr_array

from recrawl.model import owners

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import FloatArray, IntArray, Pages

DAMPING = 0.85
STEPS = 100
CLOSE = 1e-10


def edges(pages: Pages) -> tuple[IntArray, IntArray]:
    """Links between the pages that we have a copy of: rows from, and rows to."""
    links = pages.outlinks()
    target = pages.rows_of(links.target)
    return owners(links.start)[target >= 0], target[target >= 0]


def inlinks(source: IntArray, target: IntArray, pages: int) -> FloatArray:
    """From how many other pages each is linked to."""
    pairs = np.unique(source.astype(np.int64) * pages + target)
    source, target = np.divmod(pairs, max(pages, 1))
    return np.bincount(target[source != target], minlength=pages).astype(np.float64)


def pagerank(source: IntArray, target: IntArray, pages: int) -> FloatArray:
    """Where a surfer is who follows a link, or now and then goes anywhere (Page et al. 1998)."""
    if not pages:
        return np.zeros(0)
    links = csr_array((np.ones(len(source)), (target, source)), shape=(pages, pages))
    links.data[:] = 1.0  # a link given twice is one
    out = np.asarray(links.sum(axis=0)).ravel()
    here = np.full(pages, 1.0 / pages)
    for _ in range(STEPS):
        flow = np.divide(here, out, out=np.zeros(pages), where=out > 0)
        lost = float(here[out == 0].sum())
        there = DAMPING * (links @ flow + lost / pages) + (1.0 - DAMPING) / pages
        if np.abs(there - here).sum() < CLOSE:
            break
        here = there
    return np.asarray(there)


WEIGHTS: Final[dict[str, Callable[[IntArray, IntArray, int], FloatArray]]] = {
    "inlinks": inlinks,
    "pagerank": pagerank,
}
