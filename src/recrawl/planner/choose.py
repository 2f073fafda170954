"""Which rows win? The best by score that the budget and the hosts' caps allow.

Guarantee: with fetches and host caps alone, no other choice of as many pages within the caps has
a higher sum of scores (the caps form a matroid, on which taking the best first is exact). Byte and
second budgets make it a knapsack: there the best page that still fits is taken, page by page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray


@dataclass
class Allowance:
    """What is left to spend while pages are chosen."""

    host: IntArray
    host_left: NDArray[np.int64]  #: by host number; empty where hosts have no cap
    cost: FloatArray  #: one row per page: bytes, seconds; empty where neither is limited
    cost_left: FloatArray  #: bytes, seconds
    taken: BoolArray
    host_share: float = np.inf  #: most fetches from one host in a fair choice

    def __post_init__(self) -> None:
        self._share_left = np.full(len(self.host_left), min(self.host_share, len(self.taken)))

    def take(
        self,
        candidates: IntArray,
        score: FloatArray,
        ties: KeyArray,
        quota: int,
        *,
        is_fair: bool = True,
    ) -> IntArray:
        """Choose up to `quota` of the candidate rows, best first; NaN scores come last.

        A fair choice keeps to the shares of hosts, any choice to their caps.
        """
        if quota == 0 or not candidates.size:
            return candidates[:0]
        if self.taken.any():
            candidates = candidates[~self.taken[candidates]]
        worth = score[candidates]
        worth[np.isnan(worth)] = -np.inf
        ties, left = ties[candidates], self.host_left
        if is_fair:
            left = np.minimum(left, np.maximum(self._share_left, 0.0)).astype(np.int64)
        if self.cost.size:
            best = _best(worth, ties, len(worth))
            best = best[self._fitting(candidates[best], quota, left)]
        elif left.size:
            rows = self._within_caps(worth, ties, self.host[candidates], quota, left)
            best = rows[_best(worth[rows], ties[rows], min(quota, len(rows)))]
        else:
            best = _best(worth, ties, min(quota, len(worth)))
        self._spend(candidates[best])
        return candidates[best]

    def _within_caps(
        self,
        worth: FloatArray,
        ties: KeyArray,
        host: IntArray,
        quota: int,
        left: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """The best rows of each host, within what it has left; the best `quota` are among them."""
        # Mostly the best 4 × quota rows are enough, unless caps leave little more than the quota.
        if 4 * quota < len(worth) and left.sum() > 2 * quota:
            edge = np.partition(worth, len(worth) - 4 * quota)[len(worth) - 4 * quota]
            upper = np.flatnonzero(worth >= edge)
            rows: NDArray[np.int64] = upper[
                _best_of_hosts(worth[upper], ties[upper], host[upper], left)
            ]
            if len(rows) >= quota:
                return rows
        best: NDArray[np.int64] = _best_of_hosts(worth, ties, host, left)
        return best

    def _fitting(self, order: IntArray, quota: int, left: NDArray[np.int64]) -> BoolArray:
        """Whether each of these rows, taken in order, fits into what is left."""
        left, cost_left = left.copy(), self.cost_left.copy()
        fits: BoolArray = _fitting_kernel(order, quota, self.host, left, self.cost, cost_left)
        return fits

    def _spend(self, rows: IntArray) -> None:
        self.taken[rows] = True
        if self.host_left.size:
            np.subtract.at(self.host_left, self.host[rows], 1)
            np.subtract.at(self._share_left, self.host[rows], 1)
        if self.cost.size:
            self.cost_left -= self.cost[rows].sum(axis=0)


def _best(worth: FloatArray, ties: KeyArray, n: int) -> NDArray[np.int64]:
    """The `n` best, best first, without sorting the others."""
    if n == 0:
        return np.empty(0, np.int64)
    if n == len(worth):
        rows = np.arange(len(worth))
    else:
        edge = np.partition(worth, len(worth) - n)[len(worth) - n]
        sure, equal = np.flatnonzero(worth > edge), np.flatnonzero(worth == edge)
        short = n - len(sure)
        if short < len(equal):
            equal = equal[np.argpartition(ties[equal], short - 1)[:short]]
        rows = np.concatenate([sure, equal])
    return rows[np.lexsort((ties[rows], -worth[rows]))]


@njit(cache=True)
def _best_of_hosts(worth, ties, host, left):  # type: ignore[no-untyped-def]
    """The best rows of each host, as many as it has left: one heap a host, its worst on top."""
    room = np.zeros(len(left) + 1, np.int64)
    for h in host:
        room[h + 1] += 1
    for h in range(len(left)):
        room[h + 1] = room[h] + min(room[h + 1], max(left[h], 0))
    heap = np.empty(room[-1], np.int64)
    value = np.empty(room[-1])  # of the rows in the heap: kept beside them, for the cache
    size = np.zeros(len(left), np.int64)
    for row in range(len(host)):
        h = host[row]
        base, most = room[h], room[h + 1] - room[h]
        if size[h] < most:
            at = size[h]
            size[h] += 1
            while at > 0:
                up = base + (at - 1) // 2
                if not _worse(worth[row], row, value[up], heap[up], ties):
                    break
                heap[base + at], value[base + at] = heap[up], value[up]
                at = (at - 1) // 2
            heap[base + at], value[base + at] = row, worth[row]
        elif most and _worse(value[base], heap[base], worth[row], row, ties):
            _replace(heap[base : base + most], value[base : base + most], row, worth[row], ties)
    return heap


@njit(cache=True)
def _replace(heap, value, row, worth, ties):  # type: ignore[no-untyped-def]
    """Replace the worst row by this one, and bring the next worst to the top."""
    at = 0
    while 2 * at + 1 < len(heap):
        down = 2 * at + 1
        if down + 1 < len(heap) and _worse(
            value[down + 1], heap[down + 1], value[down], heap[down], ties
        ):
            down += 1
        if _worse(worth, row, value[down], heap[down], ties):
            break
        heap[at], value[at] = heap[down], value[down]
        at = down
    heap[at], value[at] = row, worth


@njit(cache=True)
def _worse(worth, row, other_worth, other, ties):  # type: ignore[no-untyped-def]
    return worth < other_worth or (worth == other_worth and ties[row] > ties[other])


@njit(cache=True)
def _fitting_kernel(order, quota, host, host_left, cost, cost_left):  # type: ignore[no-untyped-def]
    fits = np.zeros(len(order), np.bool_)
    n = 0
    for i in range(len(order)):
        if n == quota:
            break
        row = order[i]
        if host_left.size and host_left[host[row]] <= 0:
            continue
        if cost.size and (cost[row, 0] > cost_left[0] or cost[row, 1] > cost_left[1]):
            continue
        fits[i] = True
        n += 1
        if host_left.size:
            host_left[host[row]] -= 1
        if cost.size:
            cost_left[0] -= cost[row, 0]
            cost_left[1] -= cost[row, 1]
    return fits
