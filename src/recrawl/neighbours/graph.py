"""How central is each page in the graph of links, to a surfer or to one who trusts some pages?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray

DAMPING = 0.85  #: chance to follow a link rather than to begin anew
_TOLERANCE = 1e-9  # of the sum of all scores
_MOST = 200  # steps


def in_links(target: IntArray, pages: int) -> FloatArray:
    """How many links lead to each page."""
    return np.bincount(target, minlength=pages).astype(np.float64)


def pagerank(
    source: IntArray, target: IntArray, pages: int, *, begin: FloatArray | None = None
) -> FloatArray:
    """The share of time a random surfer spends on each page (Page et al. 1999).

    Link i leads from row source[i] to row target[i]. The surfer begins, and after a page without
    links begins anew, anywhere; or as `begin` says, chances by page.
    """
    if not pages:
        return np.zeros(0)
    start = np.full(pages, 1.0 / pages) if begin is None else begin / begin.sum()
    out = np.bincount(source, minlength=pages)
    data = 1.0 / out[source]
    follow = csr_matrix((data, (target, source)), shape=(pages, pages))
    score = start.copy()
    for _ in range(_MOST):
        moved = DAMPING * (follow @ score)
        new = moved + (1.0 - moved.sum()) * start
        if np.abs(new - score).sum() < _TOLERANCE:
            break
        score = new
    return score


def trustrank(source: IntArray, target: IntArray, pages: int, trusted: IntArray) -> FloatArray:
    """PageRank of a surfer who begins at the `trusted` rows only (Gyöngyi et al. 2004)."""
    trusted = np.asarray(trusted, np.int64)
    if not len(trusted) or trusted.min() < 0 or trusted.max() >= pages:
        raise BadInput(
            f"trusted must name at least one page, by its row from 0 to {pages - 1}. "
            f"Got {trusted[:5].tolist()}; name pages that are known."
        )
    begin = np.zeros(pages)
    begin[trusted] = 1.0
    return pagerank(source, target, pages, begin=begin)
