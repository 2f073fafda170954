"""Which pages stand near each other? Those whose URLs begin alike, segment by segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from recrawl.model import Neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import FloatArray, IntArray

DEPTH = 6  #: segments of a path that are looked at; few sites sort their pages deeper


def groups(urls: Sequence[str]) -> list[IntArray]:
    """Of each page the number of its group: by host, then by one more segment of the path each.

    `/a/` and `/a/b` are both of the group `/a`; at the next level `/a/` is alone.
    """
    names = pa.array(urls, pa.string())
    levels = []
    for depth in range(DEPTH + 1):
        begins = rf"^([^/]*//[^/?#]*(?:/[^/?#]+){{0,{depth}}}).*$"
        prefix = pc.replace_substring_regex(names, pattern=begins, replacement=r"\1")
        levels.append(prefix.dictionary_encode().indices.to_numpy().astype(np.int64))
        if np.bincount(levels[-1]).max(initial=0) <= 1:
            break
    return levels


def nearest(levels: Sequence[IntArray]) -> IntArray:
    """Of each page the number of the smallest group that it shares with another page."""
    found = -1 - np.arange(len(levels[0]))  # alone
    for number, group in enumerate(levels):
        shared = np.bincount(group)[group] > 1
        found = np.where(shared, group * len(levels) + number, found)
    return np.unique(found, return_inverse=True)[1]


def alongside(urls: Sequence[str], k: int = 10) -> Neighbours:
    """Of each page the k nearest that share most of its URL, its host at least; all weigh alike."""
    levels = groups(urls)
    # as segments and not as characters: "/a/b" stands by "/a/", and not by "/a-b"
    names = pc.replace_substring(pa.array(urls, pa.string()), "/", "\x01")
    order = pc.sort_indices(names).to_numpy().astype(np.int64)
    shared = np.zeros(len(order), np.int64)  # levels shared with the page before
    for group in levels:
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
