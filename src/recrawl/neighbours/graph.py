"""How central is each page in the graph of links? In-links, PageRank and TrustRank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray

DAMPING = 0.85  #: probability that the surfer follows a link and does not jump
TOLERANCE = 1e-10  #: stop when all scores together change by less; they sum to 1
MAX_STEPS = 200


def in_links(target: IntArray, pages: int) -> FloatArray:
    """How many links lead to each page."""
    return np.bincount(target, minlength=pages).astype(np.float64)


def pagerank(
    source: IntArray, target: IntArray, pages: int, *, jump: FloatArray | None = None
) -> FloatArray:
    """The share of time a random surfer spends on each page (Page et al. 1999).

    Link i leads from row source[i] to row target[i]. The surfer starts anywhere and jumps anywhere
    after a page without links, or with the probabilities `jump` by page.
    """
    if not pages:
        return np.zeros(0)
    start = np.full(pages, 1.0 / pages) if jump is None else jump / jump.sum()
    n_links = np.bincount(source, minlength=pages)
    follow = csr_matrix((1.0 / n_links[source], (target, source)), shape=(pages, pages))
    score = start.copy()
    for _ in range(MAX_STEPS):
        followed = DAMPING * (follow @ score)
        last, score = score, followed + (1.0 - followed.sum()) * start
        if np.abs(score - last).sum() < TOLERANCE:
            break
    return score


def trustrank(source: IntArray, target: IntArray, pages: int, trusted: IntArray) -> FloatArray:
    """PageRank of a surfer who starts at and jumps to the `trusted` rows only (Gyöngyi 2004)."""
    trusted = np.asarray(trusted, np.int64)
    if not len(trusted) or trusted.min() < 0 or trusted.max() >= pages:
        raise BadInput(
            f"trusted must name at least one page, by its row from 0 to {pages - 1}. "
            f"Got {trusted[:5].tolist()}; name pages that are known."
        )
    jump = np.zeros(pages)
    jump[trusted] = 1.0
    return pagerank(source, target, pages, jump=jump)
