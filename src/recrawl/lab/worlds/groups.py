"""Expands rows about groups to rows about their members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.model import IntArray


def members(edge: IntArray, group: IntArray) -> tuple[IntArray, IntArray]:
    """The number of each row, repeated for each member of its group, and the member.

    Group g has the members edge[g] to edge[g + 1].

    >>> members(np.array([0, 2, 5]), np.array([1, 0]))
    (array([0, 0, 0, 1, 1]), array([2, 3, 4, 0, 1]))
    """
    count = np.diff(edge)[group]
    before = np.cumsum(count) - count
    return (
        np.repeat(np.arange(len(group)), count),
        np.arange(count.sum()) + np.repeat(edge[group] - before, count),
    )
