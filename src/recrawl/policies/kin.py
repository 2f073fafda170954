"""Which pages stand near each other? Those whose URLs begin alike, segment by segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import IntArray

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
