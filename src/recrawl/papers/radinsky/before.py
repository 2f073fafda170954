"""What was known before each visit that is on record? From the intervals alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.history.intervals import owners, past
from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Pages


@dataclass(frozen=True)
class Before:
    """Compared visits, a row each, by page and time."""

    page: IntArray
    place: IntArray  #: among those of its page
    at: FloatArray
    days: FloatArray  #: since the visit before
    changed: BoolArray

    @staticmethod
    def of(pages: Pages) -> Before:
        """All on record."""
        found = past(pages)
        page = owners(found.start)
        place = np.arange(len(page)) - found.start[page]
        return Before(page, place, found.at, found.days, found.changed)

    def columns(self) -> FloatArray:
        """As `Content` has them: days, rate, often, compared, bits, quiet; no words."""
        changes, exposure = self._so_far(self.changed.astype(np.float64)), self._so_far(self.days)
        every = np.arange(len(self.page))
        last = np.maximum.accumulate(np.where(self.changed, every, -1))
        last = np.concatenate([[-1], last[:-1]])[: len(every)]
        began = self.at - self.days * DAY
        known = last >= every - self.place  # of the same page
        quiet = np.where(known, began - self.at[np.maximum(last, 0)], np.nan) / DAY
        unknown = np.full(len(every), np.nan)
        return np.column_stack(
            [
                self.days,
                (changes + 0.5) / (exposure + 0.5),
                changes / np.maximum(self.place, 1),
                self.place,
                self._bit(1),
                self._bit(2),
                quiet,
                unknown,
                unknown,
            ]
        )

    def visited(self, row: IntArray, *, changed: bool = False) -> FloatArray:
        """Whether other pages, a row of them each, were visited (and had changed) in between."""
        begin, span = self.at.min(initial=0.0), np.ptp(np.append(self.at, 0.0)) + DAY
        kept = self.changed if changed else np.ones(len(self.page), np.bool_)
        key = self.page[kept] * span + (self.at[kept] - begin)
        since = (self.at - self.days * DAY - begin)[:, None]
        until = (self.at - begin)[:, None]
        first = np.searchsorted(key, row * span + np.maximum(since, 0.0), "right")
        end = np.searchsorted(key, row * span + until, "left")
        found: FloatArray = (end > first).astype(np.float64)
        return found

    def _so_far(self, values: FloatArray) -> FloatArray:
        """The sum over the visits to the page before each."""
        total = np.cumsum(values) - values
        base: FloatArray = total[np.arange(len(total)) - self.place]
        return total - base

    def _bit(self, back: int) -> FloatArray:
        shifted = np.concatenate([np.zeros(back), self.changed * 1.0])[: len(self.page)]
        return np.where(self.place >= back, shifted, np.nan)
