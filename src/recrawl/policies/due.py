"""What the scheduling rules of other crawlers share: the visits of each page, and how late it is.

Such a crawler gives each page a time at which it is due. Here the pages due first go first. Pages
that are not yet due come after them, because the budget is to be spent. How failing pages are
retried is up to the planner, as for every policy; a failed visit moves no due time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.history.fold import UNKNOWN
from recrawl.history.intervals import past
from recrawl.model import DAY, starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray, Pages, Time

SAME_TIME_SECONDS = 1e-3  #: times that differ by less are one visit: columns round differently


def known_visits(pages: Pages) -> tuple[IntArray, FloatArray, NDArray[np.int8]]:
    """Where the visits of each page start, their times and outcomes, oldest first.

    They are the first success, the compared visits, and the last success if it was not compared.
    A 304 is a compared visit without a change. Outcomes are those of `fold`: SAME, DIFFERS or
    UNKNOWN.
    """
    compared = past(pages)
    n = np.diff(compared.start)
    is_visited = ~np.isnan(pages.first_visit)
    last = pages.first_visit.copy()
    last[n > 0] = compared.at[compared.start[1:][n > 0] - 1]
    has_later = pages.last_visit > last + SAME_TIME_SECONDS
    start = starts(n + is_visited + has_later)
    at, outcome = np.zeros(start[-1]), np.full(start[-1], UNKNOWN, np.int8)
    at[start[:-1][is_visited]] = pages.first_visit[is_visited]
    at[start[1:][has_later] - 1] = pages.last_visit[has_later]
    place = (start[:-1] + is_visited)[compared.page] + compared.place
    at[place], outcome[place] = compared.at, compared.changed
    return start, at, outcome


def days_overdue(pages: Pages, due: FloatArray, now: Time) -> FloatArray:
    """Days since each page was due, negative before; a page never visited is due once seen."""
    is_visited = ~np.isnan(pages.last_visit)
    return (now - np.where(is_visited, due, pages.first_seen)) / DAY
