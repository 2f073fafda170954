"""What was known before each visit that is on record? From the intervals alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, Intervals


@dataclass(frozen=True)
class Before:
    """What was known before each compared visit, by page and time."""

    past: Intervals

    def columns(self) -> FloatArray:
        """As `Content` has them: days, rate, often, compared, bits, quiet; no words."""
        past, place = self.past, self.past.place
        changes, exposure = self._so_far(past.changed.astype(np.float64)), self._so_far(past.days)
        every = np.arange(len(place))
        last = np.maximum.accumulate(np.where(past.changed, every, -1))
        last = np.concatenate([[-1], last[:-1]])[: len(every)]
        began = past.at - past.days * DAY
        known = last >= every - place  # of the same page
        quiet = np.where(known, began - past.at[np.maximum(last, 0)], np.nan) / DAY
        unknown = np.full(len(every), np.nan)
        return np.column_stack(
            [
                past.days,
                (changes + 0.5) / (exposure + 0.5),
                changes / np.maximum(place, 1),
                place,
                self._bit(1),
                self._bit(2),
                quiet,
                unknown,
                unknown,
            ]
        )

    def visited(self, row: IntArray, *, changed: bool = False) -> FloatArray:
        """Whether other pages, a row of them each, were visited (and had changed) in between."""
        at, page = self.past.at, self.past.page
        begin, span = at.min(initial=0.0), np.ptp(np.append(at, 0.0)) + DAY
        kept = self.past.changed if changed else np.ones(len(page), np.bool_)
        key = page[kept] * span + (at[kept] - begin)
        since = (at - self.past.days * DAY - begin)[:, None]
        until = (at - begin)[:, None]
        first = np.searchsorted(key, row * span + np.maximum(since, 0.0), "right")
        end = np.searchsorted(key, row * span + until, "left")
        found: FloatArray = (end > first).astype(np.float64)
        return found

    def _so_far(self, values: FloatArray) -> FloatArray:
        """The sum over the visits to the page before each."""
        total = np.cumsum(values) - values
        base: FloatArray = total[self.past.start[self.past.page]]
        return total - base

    def _bit(self, back: int) -> FloatArray:
        shifted = np.concatenate([np.zeros(back), self.past.changed * 1.0])[: len(self.past.page)]
        return np.where(self.past.place >= back, shifted, np.nan)
