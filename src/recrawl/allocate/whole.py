"""Whole numbers of visits to each page over some cycles, and the cycle of each visit.

Wolf et al. 2002: first whole numbers of visits, evenly spaced for each page; then each visit gets a
cycle, as close as possible to its ideal time, with equally many visits in each cycle.
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
    """Visits to each page, at most `most` each, for the lowest weighted staleness.

    One more visit to a page helps less than the one before, so the best are the `visits` that help
    most, on whatever page (Fox 1966). Ties: the earlier visit to a page, then the lower `key`.
    """
    steps = np.arange(most + 1.0)
    stale = staleness(rate[:, None], steps[None, :])
    benefit = weight[:, None] * (stale[:, :-1] - stale[:, 1:])
    turn = np.argsort(key, kind="stable")
    order = np.argsort(-benefit[turn].T.ravel(), kind="stable")[: min(visits, benefit.size)]
    return np.bincount(turn[order % len(rate)], minlength=len(rate))


def spread(visits: IntArray, cycles: int, key: IntArray) -> NDArray[np.int64]:
    """The cycle of each visit, from 0, in the order of pages; cycles are equally full.

    Pages with the same number of visits start at different times, in the order of `key`, so that
    about equally many visits are due at any time. Costs grow with the distance from the due time,
    so it is best to assign visits in the order of due times.
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
