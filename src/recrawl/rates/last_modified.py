"""How often does a page change, if the server sends Last-Modified?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.history.intervals import past
from recrawl.model import DAY
from recrawl.rates.bounds import bounded

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Intervals, Pages


def quiet_days(intervals: Intervals) -> FloatArray:
    """Days of each interval in which the page is known not to have changed: the papers' min(T, I).

    The whole interval where no change was seen. Half of it where one was seen and Last-Modified is
    missing or outside the interval: the mean for one change at a random time.
    """
    age = (intervals.at - intervals.modified) / DAY
    is_inside = (age >= 0.0) & (age <= intervals.days)
    since_change = np.where(is_inside, age, intervals.days / 2.0)
    return np.where(intervals.changed, since_change, intervals.days)


class LastModified:
    """X / Σ min(T, I), smoothed as (X + ½) / (Σ + ½) (Cho & Garcia-Molina 2003; Matloff 2005)."""

    name: ClassVar[str] = "last-modified"

    def rate(self, pages: Pages) -> FloatArray:
        intervals = past(pages)
        quiet = intervals.sums(quiet_days(intervals))
        return bounded((pages.n_changes + 0.5) / (quiet + 0.5))
