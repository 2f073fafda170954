"""Scores of pages that do not depend on the query: pages that link to them, or PageRank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.model import owners
from recrawl.neighbours import graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import FloatArray, IntArray, Pages


def links_between(pages: Pages) -> tuple[IntArray, IntArray]:
    """Rows that link and rows they link to, for links between these pages."""
    links = pages.outlinks()
    target = pages.rows_of(links.target)
    return owners(links.start)[target >= 0], target[target >= 0]


def inlinks(source: IntArray, target: IntArray, pages: int) -> FloatArray:
    """How many other pages link to each page."""
    source, target = _distinct(source, target, pages)
    return graph.in_links(target[source != target], pages)


def pagerank(source: IntArray, target: IntArray, pages: int) -> FloatArray:
    """PageRank; a link that occurs twice counts once."""
    return graph.pagerank(*_distinct(source, target, pages), pages)


def _distinct(source: IntArray, target: IntArray, pages: int) -> tuple[IntArray, IntArray]:
    pairs = np.unique(source.astype(np.int64) * pages + target)
    source, target = np.divmod(pairs, max(pages, 1))
    return source, target


LINK_SCORES: Final[dict[str, Callable[[IntArray, IntArray, int], FloatArray]]] = {
    "inlinks": inlinks,
    "pagerank": pagerank,
}
