"""How many visits does each page get over some cycles, and in which cycles? Whole numbers.

Wolf et al. 2002: first whole numbers of visits, each page's evenly spaced; then visits to cycles of
a fixed size, as near as can be to the times at which they should be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import exprel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray


def staleness(rate: FloatArray, visits: FloatArray) -> FloatArray:
    """The share of the time that a copy is out of date; `rate` and `visits` over the same time."""
    with np.errstate(divide="ignore", over="ignore"):
        x = np.where(visits > 0, rate / np.maximum(visits, 1e-300), np.inf)
    return np.where(np.isfinite(x), 1.0 - exprel(-np.minimum(x, 1e300)), (rate > 0) * 1.0)


def whole_visits(
    rate: FloatArray, weight: FloatArray, visits: int, most: int, key: IntArray
) -> NDArray[np.int64]:
    """Visits to each page, at most `most` each, for the least weighted staleness.

    One more visit to a page helps less than the one before it, so the best are the `visits` that
    help most, whatever their page (Fox 1966). Of visits of equal help the earlier to a page goes
    first, then the page of lower `key`.
    """
    steps = np.arange(most + 1.0)
    stale = staleness(rate[:, None], steps[None, :])
    help_ = weight[:, None] * (stale[:, :-1] - stale[:, 1:])
    turn = np.argsort(key, kind="stable")
    order = np.argsort(-help_[turn].T.ravel(), kind="stable")[: min(visits, help_.size)]
    return np.bincount(turn[order % len(rate)], minlength=len(rate))


def spread(visits: IntArray, cycles: int, key: IntArray) -> NDArray[np.int64]:
    """The cycle, from 0, of each visit, visits in the order of pages: as many to each as can be.

    Pages of equally many visits begin at different times, in the order of `key`, so that at any
    time about as many visits are due. All costs grow with the distance from the time that is due;
    so the best is to hand out the visits in the order of these times.
    """
    total = int(visits.sum())
    page = np.repeat(np.arange(len(visits)), visits)
    nth = np.arange(total) - np.repeat(np.cumsum(visits) - visits, visits)
    order = np.lexsort((key, visits))
    alike = visits[order]
    first = np.searchsorted(alike, alike)
    size = np.bincount(visits, minlength=1)[alike]
    phase = np.empty(len(visits))
    phase[order] = (np.arange(len(visits)) - first + 0.5) / np.maximum(size, 1)
    due = (nth + phase[page]) / np.maximum(visits, 1)[page] * cycles
    ranked = np.lexsort((key[page], due))
    cycle = np.empty(total, np.int64)
    cycle[ranked] = np.arange(total) * cycles // max(total, 1)
    return cycle
