"""Which pages share most of a page's URL? Its nearest neighbours by path segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from recrawl.model import Neighbours
from recrawl.neighbours.url_groups import prefix_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import FloatArray, IntArray


def url_siblings(urls: Sequence[str], k: int = 10) -> Neighbours:
    """The k pages that share most segments with each page, its host at least; equal weights."""
    # "/" sorts first, so that pages are ordered by segments: "/a/b" is next to "/a/", not to "/a-b"
    by_segment = pc.replace_substring(pa.array(urls, pa.string()), "/", "\x01")
    order = pc.sort_indices(by_segment).to_numpy().astype(np.int64)
    shared = np.zeros(len(order), np.int64)  # levels shared with the page before
    for group in prefix_groups(urls):
        shared[1:] += group[order[1:]] == group[order[:-1]]
    row, weight = np.full((len(order), k), -1), np.zeros((len(order), k))
    _spread(order, shared, row, weight)
    return Neighbours(row, weight)


@njit(cache=True)
def _spread(order: IntArray, shared: IntArray, row: IntArray, weight: FloatArray) -> None:
    """From each page go left and right in the order of URLs, to the side that shares more."""
    for place in range(len(order)):
        left, right = place, place
        before = after = len(order) + 1  # levels shared with all between
        for rank in range(row.shape[1]):
            next_left = min(before, shared[left]) if left > 0 else 0
            next_right = min(after, shared[right + 1]) if right + 1 < len(order) else 0
            if next_left == 0 and next_right == 0:
                break
            if next_left >= next_right:
                before, left = next_left, left - 1
                row[order[place], rank] = order[left]
            else:
                after, right = next_right, right + 1
                row[order[place], rank] = order[right]
            weight[order[place], rank] = 1.0
