"""How much more likely is a hit than its rate says, given the other features? Boosted trees.

Gradient boosting of the same likelihood as `hazard`. All nodes of one depth of a tree split at the
same column and value (as in CatBoost, Prokhorenkova et al. 2018): such trees hardly overfit, and
predict a million pages in a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.page.kernels import kernel, kernel_helper

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
        logs = np.zeros(columns.shape[1])
        node = np.empty(BLOCK, np.uint8)
        _predict(columns, self.column, self.above, self.leaf, node, logs)
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
    split, leaf = np.zeros((2, N_TREES, DEPTH), np.int64), np.zeros((N_TREES, 2**DEPTH))
    _grow(
        bins.astype(np.uint8), np.stack([offset, offset, offset]), hit, usable, shrink,
        np.empty(len(hit), np.uint8), np.empty((2**DEPTH, N_CUTS + 1, 3)), np.empty(N_CUTS),
        split, leaf,
    )  # fmt: skip
    column, cut = split
    return BoostedTrees(column, cuts[column, cut], leaf)


# Loops over single numbers, in arrays made outside: the compiler then has little to do.


@kernel
def _grow(bins, of_visit, hit, usable, shrink, node, sums, gains, split, leaf):  # type: ignore[no-untyped-def]
    """Fill `split` (column and cut of each depth of each tree) and `leaf`.

    The rows of `of_visit` are log s, and the slope and curvature of the likelihood. `node`, `sums`
    and `gains` are room to work in.
    """
    visits = bins.shape[1]
    for tree in range(N_TREES):
        for i in range(visits):
            s = np.exp(min(max(of_visit[0, i], -30.0), 5.0))
            tail = s / np.expm1(s)
            of_visit[1, i] = tail if hit[i] else -s
            of_visit[2, i] = s * tail
            node[i] = 0
        for depth in range(DEPTH):
            c, where = _best_split(
                bins, of_visit, node, 2**depth, usable, tree, shrink, sums, gains
            )
            split[0, tree, depth], split[1, tree, depth] = c, where
            for i in range(visits):
                node[i] = 2 * node[i] + (bins[c, i] > where)
        for n in range(2**DEPTH):
            sums[n, 0, 0], sums[n, 0, 1] = 0.0, shrink
        for i in range(visits):
            sums[node[i], 0, 0] += of_visit[1, i]
            sums[node[i], 0, 1] += of_visit[2, i]
        for n in range(2**DEPTH):
            leaf[tree, n] = LEARNING_RATE * sums[n, 0, 0] / sums[n, 0, 1]
        for i in range(visits):
            of_visit[0, i] += leaf[tree, node[i]]


@kernel_helper
def _best_split(bins, of_visit, node, nodes, usable, tree, shrink, sums, gains):  # type: ignore[no-untyped-def]
    """The column and cut of the highest gain; if there is none, a cut that few visits are above."""
    best, column, cut = 0.0, 0, N_CUTS - 1
    for c in range(len(bins)):
        if not usable[tree, c]:
            continue
        for n in range(nodes):
            for b in range(N_CUTS + 1):
                sums[n, b, 0] = sums[n, b, 1] = sums[n, b, 2] = 0.0
        for i in range(len(node)):
            n, b = node[i], bins[c, i]
            sums[n, b, 0] += of_visit[1, i]
            sums[n, b, 1] += of_visit[2, i]
            sums[n, b, 2] += 1.0
        _add_gains(sums, nodes, shrink, gains)
        for where in range(N_CUTS):
            if gains[where] > best:
                best, column, cut = gains[where], c, where
    return column, cut


@kernel_helper
def _add_gains(sums, nodes, shrink, gains):  # type: ignore[no-untyped-def]
    """The gain of each cut of one column, the same in all nodes."""
    for cut in range(N_CUTS):
        gains[cut] = 0.0
    for node in range(nodes):
        g, h, n = 0.0, 0.0, 0.0
        for b in range(N_CUTS + 1):
            g += sums[node, b, 0]
            h += sums[node, b, 1]
            n += sums[node, b, 2]
        h += shrink
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


@kernel
def _predict(columns, column, above, leaf, node, logs):  # type: ignore[no-untyped-def]
    visits = columns.shape[1]
    for begin in range(0, visits, BLOCK):  # so that what is usable stays in the cache
        n = min(BLOCK, visits - begin)
        for tree in range(len(leaf)):
            for i in range(n):
                node[i] = 0
            for depth in range(DEPTH):
                feature, value = column[tree, depth], above[tree, depth]
                bit = np.uint8(1 << (DEPTH - 1 - depth))
                for i in range(n):
                    node[i] |= bit if columns[feature, begin + i] > value else np.uint8(0)
            for i in range(n):
                logs[begin + i] += leaf[tree, node[i]]
