"""Do a page's past gains predict its next ones? The numbers of Figure 3, and footnote 4.

In Figure 3 every update of a page is refreshed at once, and gains are approximated, as in Section 5
of the paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from recrawl.errors import BadInput
from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.model import FloatArray
    from recrawl.papers.pandey.data import SearchStudy


def gain_a_day(study: SearchStudy, gain: FloatArray, cycles: range) -> FloatArray:
    """δQ_A of each page (§6.1.3): the mean over its updates of gain / days since the one before.

    `gain` is by change. Counts the updates in these cycles. The update before the first one is
    cycle 0, when all copies are made. A page without updates has 0.
    """
    order = np.lexsort((study.cycle, study.page))
    page, cycle = study.page[order], study.cycle[order]
    before = np.concatenate([[0], cycle[:-1]])
    before[np.diff(page, prepend=-1) != 0] = 0
    daily = gain[order] / ((cycle - before) * study.every / DAY)
    counted = (cycle >= cycles.start) & (cycle < cycles.stop)
    total = np.bincount(page[counted], daily[counted], minlength=study.pages)
    updates = np.bincount(page[counted], minlength=study.pages)
    return np.divide(total, updates, out=np.zeros(study.pages), where=updates > 0)


def gains_of_halves(study: SearchStudy, gain: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The gain a day of each page in the first and in the second half of the cycles."""
    last = len(study.live) - 1
    halves = range(1, last // 2 + 1), range(last // 2 + 1, last + 1)
    first, second = (gain_a_day(study, gain, cycles) for cycles in halves)
    return first, second


def correlations(first: FloatArray, second: FloatArray) -> dict[str, tuple[int, float]]:
    """Rank correlation of two columns by the pages that are counted, with their number.

    Dropping the pages that are 0 in both, as Figure 3 does, biases it downwards: a page with one
    gain has it in one half and 0 in the other.
    """
    either, both = (first != 0) | (second != 0), (first != 0) & (second != 0)
    return {
        name: (int(rows.sum()), rank_correlation(first[rows], second[rows]))
        for name, rows in (("all", first == first), ("either", either), ("both", both))
    }


def rank_correlation(first: FloatArray, second: FloatArray) -> float:
    """Spearman's; NaN if either column is constant."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return np.nan
    return float(spearmanr(first, second).statistic)


def recency_weights(
    refreshes: int, window: int | None = None, half_life: float | None = None
) -> FloatArray:
    """The weight of each past refresh of a page, oldest first (footnote 4).

    Only the last `window` refreshes count; one counts half as much as the `half_life`-th after it.

    >>> recency_weights(4, window=3, half_life=1).tolist()
    [0.0, 0.25, 0.5, 1.0]
    """
    for name, value in (("window", window), ("half_life", half_life)):
        if value is not None and not value > 0:
            raise BadInput(
                f"{name} must be above 0 refreshes. Got {value:g}; leave it out for all."
            )
    age = np.arange(refreshes)[::-1]
    weight = np.ones(refreshes) if half_life is None else np.exp2(-age / half_life)
    return weight if window is None else np.where(age < window, weight, 0.0)
