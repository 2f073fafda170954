"""Training examples from recorded intervals: what was known before each compared visit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, Intervals


@dataclass(frozen=True)
class PastExamples:
    """One example per interval, by page and time; the label is `past.changed`."""

    past: Intervals

    def features(self) -> FloatArray:
        """The columns of `VisitLog.features`; the two about words are NaN."""
        past, place = self.past, self.past.place
        changes, exposure = (
            self._sum_before(past.changed.astype(float)),
            self._sum_before(past.days),
        )
        every = np.arange(len(place))
        last = np.maximum.accumulate(np.where(past.changed, every, -1))
        last = np.concatenate([[-1], last[:-1]])[: len(every)]
        start = past.at - past.days * DAY
        same_page = last >= every - place
        quiet = np.where(same_page, start - past.at[np.maximum(last, 0)], np.nan) / DAY
        unknown = np.full(len(every), np.nan)
        return np.column_stack(
            [
                past.days,
                (changes + 0.5) / (exposure + 0.5),
                changes / np.maximum(place, 1),
                place,
                self._changed_before(1),
                self._changed_before(2),
                quiet,
                unknown,
                unknown,
            ]
        )

    def visited(self, row: IntArray, *, changed: bool = False) -> FloatArray:
        """1 where another page was visited within the interval (and had changed), else 0.

        `row` has the other pages of each interval in its columns.
        """
        at, page = self.past.at, self.past.page
        begin, span = at.min(initial=0.0), np.ptp(np.append(at, 0.0)) + DAY
        kept = self.past.changed if changed else np.ones(len(page), np.bool_)
        key = page[kept] * span + (at[kept] - begin)
        since = (at - self.past.days * DAY - begin)[:, None]
        until = (at - begin)[:, None]
        first = np.searchsorted(key, row * span + np.maximum(since, 0.0), "right")
        end = np.searchsorted(key, row * span + until, "left")
        visited: FloatArray = (end > first).astype(np.float64)
        return visited

    def _sum_before(self, values: FloatArray) -> FloatArray:
        """Sum over the earlier intervals of the same page."""
        total = np.cumsum(values) - values
        base: FloatArray = total[self.past.start[self.past.page]]
        return total - base

    def _changed_before(self, back: int) -> FloatArray:
        """Whether the interval `back` places earlier showed a change; NaN where there is none."""
        shifted = np.concatenate([np.zeros(back), self.past.changed * 1.0])[: len(self.past.page)]
        return np.where(self.past.place >= back, shifted, np.nan)
