"""Which queries are about these pages? A general workload, cut where relevance drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray
    from recrawl.search.matches import Matches


def relevance(found: Matches) -> FloatArray:
    """Of each query the sum of the scores of all documents that it finds."""
    sums = np.concatenate([[0.0], np.cumsum(found.score)])
    return np.asarray(sums[found.start[1:]] - sums[found.start[:-1]])


def above_knee(relevance: FloatArray) -> BoolArray:
    """The queries before the knee of relevance (Pandey & Olston 2005 chose it by eye).

    It is where the logarithm lies farthest above a straight line from the most relevant query to
    the least.
    """
    kept = relevance > 0
    if kept.sum() < 3:
        return kept
    order = np.argsort(-relevance, kind="stable")[: int(kept.sum())]
    x, y = np.arange(len(order)) / (len(order) - 1), np.log(relevance[order])
    if y[0] == y[-1]:
        return kept
    y = (y - y[-1]) / (y[0] - y[-1])
    knee = int(np.argmax(y - (1.0 - x)))
    kept[order[knee + 1 :]] = False
    return kept
