"""How often is a page a hit, by its own visits and by those of its host, section and directory?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.neighbours.url_groups import N_NESTED

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray

PRIOR_HITS, PRIOR_DAYS = 1.0, 100.0  #: added to those of all pages together
GROUP_PRIOR_HITS = 2.0  #: that the rate of the wider group counts for in a group
PAGE_PRIOR_HITS = 0.5  #: that the rate of its smallest group counts for in a page


def base_rates(
    group: IntArray, totals: FloatArray, events: FloatArray, days: FloatArray, page: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Hits a day of these pages, and of the smallest group of each; never 0.

    `group` has one row per level and one column per page; `totals` has the events and days of each
    group.
    """
    rates: tuple[FloatArray, FloatArray] = _shrunk_rates(group, totals, events, days, page)
    return rates


def mean_rate(events: FloatArray | IntArray, days: FloatArray) -> float:
    """Hits a day of all pages together."""
    return float((events.sum() + PRIOR_HITS) / (days.sum() + PRIOR_DAYS))


@njit(cache=True)
def _shrunk_rates(group, totals, events, days, page):  # type: ignore[no-untyped-def]
    own, of_group = np.empty(len(page)), np.empty(len(page))
    for i in range(len(page)):
        p = page[i]
        g = group[0, p]
        if g < 0:
            rate = PRIOR_HITS / PRIOR_DAYS
        else:
            rate = (totals[0, g] + PRIOR_HITS) / (totals[1, g] + PRIOR_DAYS)
        for level in range(1, N_NESTED):
            g = group[level, p]
            if g >= 0:
                rate = (totals[0, g] + GROUP_PRIOR_HITS) / (totals[1, g] + GROUP_PRIOR_HITS / rate)
        of_group[i] = rate
        own[i] = (events[p] + PAGE_PRIOR_HITS) / (days[p] + PAGE_PRIOR_HITS / rate)
    return own, of_group
