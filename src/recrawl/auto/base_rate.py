"""How often is a page a hit, by its own visits and by those of its host, section and directory?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.neighbours.url_groups import N_NESTED

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray

PRIOR_HITS, PRIOR_DAYS = 1.0, 100.0  #: added to those of all pages together
GROUP_PRIOR_HITS = 2.0  #: that the rate of the wider group counts for in a group
PAGE_PRIOR_HITS = 0.5  #: that the rate of its smallest group counts for in a page


def base_rates(
    group: IntArray, totals: FloatArray, events: FloatArray, days: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Hits a day of pages, and of the smallest group of each; never 0.

    `group` has one row per level and one column per page; `totals` has the events and days of each
    group, `events` and `days` those of each page.
    """
    rate = np.full(len(events), PRIOR_HITS / PRIOR_DAYS)
    for of_page, level in zip(group, range(N_NESTED), strict=False):
        member = of_page >= 0
        hits, time = totals[:, of_page[member]]
        if level == 0:
            rate[member] = (hits + PRIOR_HITS) / (time + PRIOR_DAYS)
        else:
            rate[member] = (hits + GROUP_PRIOR_HITS) / (time + GROUP_PRIOR_HITS / rate[member])
    return (events + PAGE_PRIOR_HITS) / (days + PAGE_PRIOR_HITS / rate), rate


def mean_rate(events: FloatArray | IntArray, days: FloatArray) -> float:
    """Hits a day of all pages together."""
    return float((events.sum() + PRIOR_HITS) / (days.sum() + PRIOR_DAYS))
