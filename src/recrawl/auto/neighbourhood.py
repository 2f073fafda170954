"""What did visits to a page's neighbours show since our own visit to it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.auto.page_history import PageHistory
    from recrawl.model import FloatArray, IntArray, Neighbours

FADES = 0.9  #: what evidence is worth a day later
PRIOR = 0.3  #: hits that evidence of nothing unusual counts for


@dataclass
class Neighbourhood:
    """The neighbours of each page: rows of other pages, -1 for none, and how much each counts."""

    row: NDArray[np.int32]
    weight: NDArray[np.float32]

    @classmethod
    def none(cls, pages: int, most: int) -> Neighbourhood:
        """Pages without neighbours, which may get so many each."""
        return cls(np.full((pages, most), -1, np.int32), np.zeros((pages, most), np.float32))

    def put(self, old: Neighbourhood, place: IntArray) -> None:
        """Take over the neighbours of pages, which now are at these rows."""
        self.row[place] = np.where(old.row >= 0, place[old.row], -1)
        self.weight[place] = old.weight

    def set(self, page: IntArray, near: Neighbours) -> None:
        """The neighbours of these pages are others now."""
        self.row[page], self.weight[page] = near.row, near.weight

    def offer(self, page: IntArray) -> None:
        """Make these pages neighbours of their neighbours, where nearer than one of those."""
        _offer(self.row, self.weight, page)

    def evidence(
        self, own: PageHistory, rate: FloatArray, page: IntArray, since: FloatArray, now: FloatArray
    ) -> FloatArray:
        """Log of the neighbours that were hits since a time over the hits their rates promised.

        `rate` is of all pages; `since` and `now` are of each of these.
        """
        seen = own.first, own.last, own.last_hit, own.hit_days
        found: FloatArray = _evidence(self.row, self.weight, rate, *seen, page, since, now)
        return found

    def rates(
        self, own: PageHistory, rate: FloatArray, prior: FloatArray, page: IntArray
    ) -> FloatArray:
        """Log of the neighbours' hits a day, drawn towards `prior`, over `rate`; 0 without any.

        Both are of all pages.
        """
        of = (own.events, own.days, rate, prior)
        found: FloatArray = _rates(self.row, self.weight, *of, page)
        return found


@njit(cache=True)
def _offer(row, weight, page):  # type: ignore[no-untyped-def]
    for p in page:
        for k in range(row.shape[1]):
            j, w = row[p, k], weight[p, k]
            if j < 0:
                break
            if w <= 0.0 or (row[j] == p).any():
                continue
            free = np.flatnonzero(row[j] < 0)
            worst = free[0] if len(free) else np.argmin(weight[j])
            if len(free) or weight[j, worst] < w:
                row[j, worst], weight[j, worst] = p, w


@njit(cache=True)
def _evidence(row, weight, rate, first, last, last_hit, hit_days, page, since, now):  # type: ignore[no-untyped-def]
    found = np.zeros(len(page))
    for i in range(len(page)):
        hits = due = 0.0
        for k in range(row.shape[1]):
            j = row[page[i], k]
            if j < 0:
                break  # the others are none either
            if not last[j] > since[i]:
                continue
            w = weight[page[i], k]
            days = last[j] - max(since[i], first[j])  # 0 for one that was never visited
            due += w * FADES ** max(now[i] - last[j], 0.0) * rate[j] * days
            if last_hit[j] > since[i]:
                part = min(1.0, (last_hit[j] - since[i]) / max(hit_days[j], 1e-9))
                hits += w * FADES ** max(now[i] - last_hit[j], 0.0) * part
        found[i] = np.log((hits + PRIOR) / (due + PRIOR))
    return found


@njit(cache=True)
def _rates(row, weight, events, days, rate, prior, page):  # type: ignore[no-untyped-def]
    found = np.zeros(len(page))
    for i in range(len(page)):
        p = page[i]
        if row[p, 0] < 0:
            continue
        hits, time = 0.5, 0.5 / prior[p]
        for k in range(row.shape[1]):
            j = row[p, k]
            if j < 0:
                break
            hits += weight[p, k] * events[j]
            time += weight[p, k] * days[j]
        found[i] = np.log(hits / time / rate[p])
    return found
