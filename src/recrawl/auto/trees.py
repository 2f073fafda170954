"""How much more likely is a hit than its rate says, given the other features? Boosted trees.

Gradient boosting of the same likelihood as `hazard`. All nodes of one depth of a tree split at the
same column and value (as in CatBoost, Prokhorenkova et al. 2018): such trees hardly overfit, and
predict a million pages in a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.page.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray

N_TREES, DEPTH = 60, 4
LEARNING_RATE = 0.05
SHRINK = 5.0  #: expected hits in a leaf that the plain rate counts for
MIN_VISITS = 30  #: on each side of a split
N_CUTS = 63  #: values at which a column may be split
COLUMN_SHARE = 0.7  #: of the columns that a tree may use
BLOCK = 32_768  #: visits predicted at a time, so that what is used stays in the cache


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
        for begin in range(0, len(logs), BLOCK):
            block = columns[:, begin : begin + BLOCK]
            for column, above, leaf in zip(self.column, self.above, self.leaf, strict=True):
                node = np.zeros(block.shape[1], np.uint8)
                for feature, value in zip(column, above, strict=True):
                    node += node
                    node += (block[feature] > value).view(np.uint8)
                # Every node has a leaf; clip only spares the check, which takes twice the time.
                logs[begin : begin + BLOCK] += leaf.take(node, mode="clip")
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
    places = [np.searchsorted(c, x) for c, x in zip(cuts, columns, strict=True)]
    bins = np.stack(places).astype(np.uint8)
    usable = random.random((N_TREES, len(columns))) < COLUMN_SHARE
    (column, cut), leaf = _boost(bins, offset, hit, usable, shrink)
    return BoostedTrees(column, cuts[column, cut], leaf)


def _boost(
    bins: NDArray[np.uint8], offset: FloatArray, hit: BoolArray, usable: BoolArray, shrink: float
) -> tuple[IntArray, FloatArray]:
    """The column and cut of each depth of each tree, and the values of its leaves."""
    split, leaf = np.zeros((2, N_TREES, DEPTH), np.int64), np.zeros((N_TREES, 2**DEPTH))
    log_s = offset.copy()
    slope, curve = np.empty((2, len(hit)))
    for tree in range(N_TREES):
        _derivatives(log_s, hit, slope, curve)
        split[:, tree], node = _grow(bins, np.flatnonzero(usable[tree]), slope, curve, shrink)
        of_visit, weight = node.astype(np.intp), np.full(2**DEPTH, shrink)
        np.add.at(weight, of_visit, curve)
        leaf[tree] = LEARNING_RATE * np.bincount(of_visit, slope, 2**DEPTH) / weight
        log_s += leaf[tree, of_visit]
    return split, leaf


def _grow(
    bins: NDArray[np.uint8], usable: IntArray, slope: FloatArray, curve: FloatArray, shrink: float
) -> tuple[IntArray, NDArray[np.uint8]]:
    """One tree: the column and cut of each depth, and the leaf of each visit."""
    split, node = np.zeros((2, DEPTH), np.int64), np.zeros(bins.shape[1], np.uint8)
    for depth in range(DEPTH):
        sums = np.zeros((len(usable), 2**depth, N_CUTS + 1, 3))
        _add_visits(bins, usable, node, slope, curve, sums)
        gains = _gains(sums, shrink)
        column, cut = 0, N_CUTS - 1  # without a gain, a cut that few visits are above
        if gains.max(initial=0.0) > 0.0:
            place, cut = divmod(int(gains.argmax()), N_CUTS)
            column = int(usable[place])
        split[:, depth] = column, cut
        node = 2 * node + (bins[column] > cut)
    return split, node


def _gains(sums: FloatArray, shrink: float) -> FloatArray:
    """The gain of each cut (columns of the result) of each usable column (rows).

    `sums` has slope, curvature and number of the visits by column, node and bin. All nodes are cut
    at the same place; a node that few visits are on one side of gains nothing.
    """
    all_g, all_h, all_n = np.moveaxis(sums.sum(axis=2, keepdims=True), 3, 0)
    all_h = all_h + shrink
    sums[:, :, 0, 1] += shrink
    left_g, left_h, left_n = np.moveaxis(sums.cumsum(axis=2)[:, :, :-1], 3, 0)
    right_g, right_h = all_g - left_g, all_h - left_h + shrink
    gains = left_g**2 / left_h + right_g**2 / right_h - all_g**2 / all_h
    is_small = (left_n < MIN_VISITS) | (all_n - left_n < MIN_VISITS)
    return np.asarray(np.where(is_small, 0.0, gains).sum(axis=1))


# Only what is done for each visit is compiled: the less there is of it, the sooner a first plan.


@kernel
def _derivatives(log_s, hit, slope, curve):  # type: ignore[no-untyped-def]
    """Slope of the log-likelihood of each visit by log s, and minus its expected curvature."""
    for i in range(len(log_s)):
        s = np.exp(min(max(log_s[i], -30.0), 5.0))
        tail = s / np.expm1(s)
        slope[i] = tail if hit[i] else -s
        curve[i] = s * tail


@kernel
def _add_visits(bins, usable, node, slope, curve, sums):  # type: ignore[no-untyped-def]
    """Add slope, curvature and number of the visits to `sums`, by column, node and bin."""
    for place in range(len(usable)):
        column = usable[place]
        for i in range(len(node)):
            n, b = node[i], bins[column, i]
            sums[place, n, b, 0] += slope[i]
            sums[place, n, b, 1] += curve[i]
            sums[place, n, b, 2] += 1.0
