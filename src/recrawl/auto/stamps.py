"""When was a page last modified, by what servers say? And how far have they proved right?

`Last-Modified` tells when a change happened, where visits only tell in which interval. At the first
visit it tells how long the page had been quiet. Some servers send the time of the request, others a
date that never moves: each host is believed as far as its stamps agreed with what visits showed.
Times are days.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from recrawl.history.intervals import first_ages
from recrawl.neighbours.url_groups import LEVELS

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Pages

PRIOR_VISITS = 4.0  #: that the hosts together count for in what is believed of one
UNPROVED = 0.5  #: how far stamps are believed of which nothing is known
MAX_AGE_DAYS = 3_650.0
SLACK_DAYS = 1 / 24  #: by which the clock of a server may be ahead of ours
HOST = LEVELS.index("host")


@dataclass
class Stamps:
    """One row per page: its age at the first visit, and visits by what their stamp was worth."""

    first_age: FloatArray  #: NaN: the first visit had no stamp; inf: there was no visit yet
    changed: FloatArray  #: stamped visits that showed a change
    changed_right: FloatArray  #: those of them whose stamp lies in their interval
    quiet: FloatArray  #: stamped visits that showed none
    quiet_right: FloatArray  #: those of them whose stamp lies before their interval
    belief: FloatArray  #: how far a stamp of this page is believed, from 0 to 1

    @classmethod
    def empty(cls, n_pages: int) -> Self:
        stamps = cls(**{f.name: np.zeros(n_pages) for f in fields(cls)})
        stamps.first_age[:] = np.inf
        return stamps

    def take_over(self, old: Stamps, new_row: IntArray) -> None:
        """Take over what is known of other pages, which are at these rows here."""
        for f in fields(self):
            getattr(self, f.name)[new_row] = getattr(old, f.name)

    def read_first(self, pages: Pages) -> None:
        """Read the stamps of first visits that were not read yet."""
        rows = np.flatnonzero(np.isinf(self.first_age) & ~np.isnan(pages.first_visit))
        if len(rows):
            age = first_ages(pages.take(rows))
            self.first_age[rows] = np.where(
                age >= -SLACK_DAYS, np.clip(age, 0.0, MAX_AGE_DAYS), np.nan
            )

    def add_visits(self, page: IntArray, days: FloatArray, age: FloatArray, hit: BoolArray) -> None:
        """Count visits: days since the copy before, age of the page by its stamp, was it a hit?"""
        stamped = ~np.isnan(age)
        right = np.where(hit, is_inside(days, age), age >= days - SLACK_DAYS)
        for counts, counted in (
            (self.changed, stamped & hit),
            (self.changed_right, stamped & hit & right),
            (self.quiet, stamped & ~hit),
            (self.quiet_right, stamped & ~hit & right),
        ):
            np.add.at(counts, page[counted], 1.0)

    def judge_hosts(self, group: IntArray) -> None:
        """Set how far each page's stamps are believed; `group` has a row for each of LEVELS."""
        host = np.where(group[HOST] >= 0, group[HOST], group.max(initial=0) + 1)
        self.belief = _right_share(self.changed_right, self.changed, host) * _right_share(
            self.quiet_right, self.quiet, host
        )

    def first_events(self, page: IntArray) -> tuple[FloatArray, FloatArray]:
        """Changes before the first visit to each page, and the days they stand for.

        A page that was last modified a days ago had one change in a days, as far as we know.
        """
        age = self.first_age[page]
        belief = np.where(np.isfinite(age), self.belief[page], 0.0)
        return belief, belief * np.where(np.isfinite(age), age, 0.0)


def is_inside(days: FloatArray, age: FloatArray) -> BoolArray:
    """Whether a stamp lies in the interval that a visit closes; False without a stamp."""
    inside: BoolArray = (age >= -SLACK_DAYS) & (age < days)
    return inside


def _right_share(right: FloatArray, n: FloatArray, host: IntArray) -> FloatArray:
    """Of each page's host the share of stamps that were right, shrunk to that of all hosts."""
    everywhere = (right.sum() + UNPROVED) / (n.sum() + 1.0)
    of_host = [np.bincount(host, column, minlength=1)[host] for column in (right, n)]
    share: FloatArray = (of_host[0] + PRIOR_VISITS * everywhere) / (of_host[1] + PRIOR_VISITS)
    return share
