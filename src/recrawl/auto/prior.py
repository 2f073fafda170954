"""How often is a page a hit, by its own visits and by those of its host, section and directory?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.neighbours.url_groups import N_NESTED

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray

ALL = (1.0, 100.0)  #: hits and days that all pages together begin with
GROUP = 2.0  #: hits that the rate of the wider group counts for
PAGE = 0.5  #: hits that the rate of the directory counts for


def rates(
    group: IntArray, sums: FloatArray, events: FloatArray, days: FloatArray, page: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Hits a day of these pages, and of the smallest group of each; never 0.

    `group` has a row a level and a column a page; `sums` the events and days of each group.
    """
    found: tuple[FloatArray, FloatArray] = _rates(group, sums, events, days, page)
    return found


def mean_rate(events: FloatArray | IntArray, days: FloatArray) -> float:
    """Hits a day of all pages together."""
    return float((events.sum() + ALL[0]) / (days.sum() + ALL[1]))


@njit(cache=True)
def _rates(group, sums, events, days, page):  # type: ignore[no-untyped-def]
    own, mean = np.empty(len(page)), np.empty(len(page))
    for i in range(len(page)):
        p = page[i]
        g = group[0, p]
        rate = ALL[0] / ALL[1] if g < 0 else (sums[0, g] + ALL[0]) / (sums[1, g] + ALL[1])
        for level in range(1, N_NESTED):
            g = group[level, p]
            if g >= 0:
                rate = (sums[0, g] + GROUP) / (sums[1, g] + GROUP / rate)
        mean[i] = rate
        own[i] = (events[p] + PAGE) / (days[p] + PAGE / rate)
    return own, mean
