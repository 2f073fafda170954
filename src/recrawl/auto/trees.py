"""How much more likely is a hit than its rate says, given the other features? Boosted trees.

Gradient boosting of the same likelihood as `hazard`. All nodes of one depth of a tree split at the
same column and value (as in CatBoost, Prokhorenkova et al. 2018): such trees hardly overfit, and
predict a million pages in a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray

N_TREES, DEPTH = 60, 4
LEARNING_RATE = 0.05
SHRINK = 5.0  #: expected hits in a leaf that the plain rate counts for
MIN_VISITS = 30  #: on each side of a split
N_CUTS = 63  #: values at which a column may be split
COLUMN_SHARE = 0.7  #: of the columns that a tree may use
BLOCK = 2_048  #: visits predicted at a time


@dataclass(frozen=True)
class BoostedTrees:
    """Trees. For each depth: the column tested and the value above which a visit goes right."""

    column: IntArray
    above: NDArray[np.float32]
    leaf: FloatArray  #: the value of each leaf of each tree

    def log_ratio(self, columns: NDArray[np.float32]) -> FloatArray:
        """Log of s over rate × days, where a hit has the probability 1 − exp(−s).

        `columns` has one row per feature and one column per visit.
        """
        logs: FloatArray = _predict(columns, self.column, self.above, self.leaf)
        return logs


def fit(
    columns: NDArray[np.float32],
    offset: FloatArray,
    hit: BoolArray,
    *,
    shrink: float = SHRINK,
    seed: int = 0,
) -> BoostedTrees:
    """Fit to visits: one row per feature, one column per visit; `offset` is log(rate × days)."""
    random = np.random.default_rng(seed)
    cuts = np.quantile(columns, np.linspace(0, 1, N_CUTS + 2)[1:-1], axis=1).T.astype(np.float32)
    bins = np.stack([np.searchsorted(c, x) for c, x in zip(cuts, columns, strict=True)])
    usable = random.random((N_TREES, len(columns))) < COLUMN_SHARE
    column, cut, leaf = _grow(bins.astype(np.uint8), offset, hit, usable, shrink)
    return BoostedTrees(column, cuts[column, cut], leaf)


@njit(cache=True)
def _grow(bins, offset, hit, usable, shrink):  # type: ignore[no-untyped-def]
    visits = bins.shape[1]
    column, cut = np.zeros((N_TREES, DEPTH), np.int64), np.zeros((N_TREES, DEPTH), np.int64)
    leaf = np.zeros((N_TREES, 2**DEPTH))
    log_s = offset.copy()
    slope, curve, node = np.empty(visits), np.empty(visits), np.empty(visits, np.uint8)
    for tree in range(N_TREES):
        for i in range(visits):
            s = np.exp(min(max(log_s[i], -30.0), 5.0))
            tail = s / np.expm1(s)
            slope[i] = tail if hit[i] else -s
            curve[i] = s * tail
        node[:] = 0
        for depth in range(DEPTH):
            c, where = _best_split(bins, slope, curve, node, 2**depth, usable[tree], shrink)
            column[tree, depth], cut[tree, depth] = c, where
            for i in range(visits):
                node[i] = 2 * node[i] + (bins[c, i] > where)
        g, h = np.zeros(2**DEPTH), np.full(2**DEPTH, shrink)
        for i in range(visits):
            g[node[i]] += slope[i]
            h[node[i]] += curve[i]
        leaf[tree] = LEARNING_RATE * g / h
        for i in range(visits):
            log_s[i] += leaf[tree, node[i]]
    return column, cut, leaf


@njit(cache=True)
def _best_split(bins, slope, curve, node, nodes, usable, shrink):  # type: ignore[no-untyped-def]
    """The column and cut of the highest gain; if there is none, a cut that few visits are above."""
    best, column, cut = 0.0, 0, N_CUTS - 1
    for c in range(len(bins)):
        if not usable[c]:
            continue
        sums = np.zeros((nodes, N_CUTS + 1, 3))
        for i in range(len(node)):
            n, b = node[i], bins[c, i]
            sums[n, b, 0] += slope[i]
            sums[n, b, 1] += curve[i]
            sums[n, b, 2] += 1.0
        gain, where = _best_cut(sums, shrink)
        if gain > best:
            best, column, cut = gain, c, where
    return column, cut


@njit(cache=True)
def _best_cut(sums, shrink):  # type: ignore[no-untyped-def]
    """The gain of the best cut of one column, the same in all nodes, and which cut that is."""
    gains = np.zeros(N_CUTS)
    for node in range(len(sums)):
        g = sums[node, :, 0].sum()
        h = sums[node, :, 1].sum() + shrink
        n = sums[node, :, 2].sum()
        left_g, left_h, left_n = 0.0, shrink, 0.0
        for cut in range(N_CUTS):
            left_g += sums[node, cut, 0]
            left_h += sums[node, cut, 1]
            left_n += sums[node, cut, 2]
            if left_n < MIN_VISITS or n - left_n < MIN_VISITS:
                continue
            right = g - left_g
            right_h = h - left_h + shrink
            gains[cut] += left_g**2 / left_h + right**2 / right_h - g**2 / h
    where = int(np.argmax(gains))
    return gains[where], where


@njit(cache=True)
def _predict(columns, column, above, leaf):  # type: ignore[no-untyped-def]
    visits = columns.shape[1]
    logs = np.zeros(visits)
    node = np.empty(BLOCK, np.uint8)
    for begin in range(0, visits, BLOCK):  # so that what is usable stays in the cache
        end = min(begin + BLOCK, visits)
        for tree in range(len(leaf)):
            node[:] = 0
            for depth in range(DEPTH):
                feature, value = columns[column[tree, depth], begin:end], above[tree, depth]
                bit = np.uint8(1 << (DEPTH - 1 - depth))
                for i in range(end - begin):
                    node[i] |= bit if feature[i] > value else np.uint8(0)
            values = leaf[tree]
            for i in range(end - begin):
                logs[begin + i] += values[node[i]]
    return logs
