"""What did visits to a page's neighbours show since our own visit to it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.page.kernels import kernel, kernel_helper

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.auto.page_history import PageHistory
    from recrawl.model import FloatArray, IntArray, Neighbours

DAILY_DECAY = 0.9  #: weight of evidence after a day
PRIOR_HITS = 0.3  #: that "nothing unusual" counts for


@dataclass
class Neighbourhood:
    """The neighbours of each page: rows of other pages, -1 for none, and how much each counts."""

    row: NDArray[np.int32]
    weight: NDArray[np.float32]

    @classmethod
    def empty(cls, n_pages: int, k: int) -> Neighbourhood:
        """Pages without neighbours, with room for k each."""
        return cls(np.full((n_pages, k), -1, np.int32), np.zeros((n_pages, k), np.float32))

    def take_over(self, old: Neighbourhood, new_row: IntArray) -> None:
        """Take over the neighbours of other pages, which are at these rows here."""
        self.row[new_row] = np.where(old.row >= 0, new_row[old.row], -1)
        self.weight[new_row] = old.weight

    def replace(self, page: IntArray, near: Neighbours) -> None:
        """Give these pages new neighbours.

        A neighbour takes the page as its own neighbour if the page is nearer than one it has.
        """
        self.row[page], self.weight[page] = near.row, near.weight
        _offer(self.row, self.weight, page)

    def evidence(
        self,
        history: PageHistory,
        rate: FloatArray,
        page: IntArray,
        since: FloatArray,
        now: FloatArray,
    ) -> FloatArray:
        """Log of the hits of neighbours since a time over the hits expected from their rates.

        `rate` is of all pages; `since` and `now` are of each of these.
        """
        past = history.first, history.last, history.last_hit, history.hit_days
        logs = np.zeros(len(page))
        _evidence(self.row, self.weight, rate, *past, page, since, now, logs)
        return logs

    def rates(
        self, history: PageHistory, rate: FloatArray, prior: FloatArray, page: IntArray
    ) -> FloatArray:
        """Log of the neighbours' hits a day, shrunk towards `prior`, over `rate`; 0 without any.

        Both are of all pages.
        """
        known = (history.events, history.days, rate, prior)
        logs = np.zeros(len(page))
        _rates(self.row, self.weight, *known, page, logs)
        return logs


@kernel
def _offer(row, weight, page):  # type: ignore[no-untyped-def]
    for i in range(len(page)):
        p = page[i]
        for k in range(row.shape[1]):
            j, w = row[p, k], weight[p, k]
            if j < 0:
                break
            if w <= 0.0:
                continue
            worst = _place(row, weight, j, p)
            if worst >= 0 and (row[j, worst] < 0 or weight[j, worst] < w):
                row[j, worst], weight[j, worst] = p, w


@kernel_helper
def _place(row, weight, j, p):  # type: ignore[no-untyped-def]
    """Where j has its first free place, or else its least neighbour; -1 if p is a neighbour."""
    worst = 0
    for k in range(row.shape[1]):
        if row[j, k] == p:
            return -1
        if row[j, worst] >= 0 and (row[j, k] < 0 or weight[j, k] < weight[j, worst]):
            worst = k
    return worst


@kernel
def _evidence(row, weight, rate, first, last, last_hit, hit_days, page, since, now, logs):  # type: ignore[no-untyped-def]
    for i in range(len(page)):
        hits = due = 0.0
        for k in range(row.shape[1]):
            j = row[page[i], k]
            if j < 0:
                break  # no more neighbours
            if not last[j] > since[i]:
                continue
            w = weight[page[i], k]
            days = last[j] - max(since[i], first[j])  # 0 if it was never visited
            due += w * DAILY_DECAY ** max(now[i] - last[j], 0.0) * rate[j] * days
            if last_hit[j] > since[i]:
                part = min(1.0, (last_hit[j] - since[i]) / max(hit_days[j], 1e-9))
                hits += w * DAILY_DECAY ** max(now[i] - last_hit[j], 0.0) * part
        logs[i] = np.log((hits + PRIOR_HITS) / (due + PRIOR_HITS))


@kernel
def _rates(row, weight, events, days, rate, prior, page, logs):  # type: ignore[no-untyped-def]
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
        logs[i] = np.log(hits / time / rate[p])
