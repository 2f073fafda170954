"""Tests whether two series differ, by how much, and how likely chance explains it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import FloatArray

LEVEL = 0.95  #: of the intervals
MIN_BLOCKS = 4  #: fewer blocks would give nearly equal resamples
ROUNDING = 1e-12  #: a spread below this share of the values counts as 0


@dataclass(frozen=True)
class Difference:
    """Ours minus theirs."""

    mean: float
    low: float  #: of the 95 % interval of the mean
    high: float
    p: float  #: two-sided, that there is no difference
    effect: float  #: the mean, in standard deviations of the single differences


def paired_difference(
    ours: FloatArray, theirs: FloatArray, *, block: int = 7, draws: int = 2000, seed: int = 0
) -> Difference:
    """The difference of two series over the same days.

    A circular block bootstrap (Politis & Romano 1992): a day resembles the one before, so blocks of
    `block` days are drawn, at least four. Deviations are widened by √(n / (n − block)), because the
    mean they are taken from is that of the same few blocks.

    >>> import numpy as np
    >>> test = paired_difference(np.tile([3.0, 5.0], 30), np.tile([2.0, 3.0], 30), block=2)
    >>> test.mean, round(test.effect, 1), test.p < 0.001
    (1.5, 3.0, True)
    """
    gap = _gap(ours, theirs, "days")
    if block < 1 or draws < 1:
        raise BadInput(f"block and draws must be at least 1. Got {block} and {draws}.")
    n = len(gap)
    length = max(1, min(block, n // MIN_BLOCKS))
    mean = float(gap.mean())
    moved = _resampled(gap - mean, length, draws, seed) * math.sqrt(n / (n - length))
    low, high = np.quantile(moved, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    as_far = int((np.abs(moved) >= abs(mean)).sum())
    # The basic bootstrap interval: the mean minus the deviation of the other end.
    return Difference(
        mean=mean,
        low=mean - float(high),
        high=mean - float(low),
        p=(1 + as_far) / (1 + draws),
        effect=_effect(gap),
    )


def fold_test(ours: FloatArray, theirs: FloatArray) -> Difference:
    """The difference of two methods over the same folds, by Student's paired t-test.

    >>> import numpy as np
    >>> test = fold_test(np.array([2.0, 3.0, 5.0]), np.array([1.0, 1.0, 2.0]))
    >>> test.mean, round(test.p, 4), test.effect
    (2.0, 0.0742, 2.0)
    """
    gap = _gap(ours, theirs, "folds")
    mean, effect = float(gap.mean()), _effect(gap)
    if effect == 0 or math.isinf(effect):
        return Difference(mean, mean, mean, p=float(effect == 0), effect=effect)
    error = mean / effect / math.sqrt(len(gap))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(gap) - 1)) * error
    p = 2 * float(stats.t.sf(abs(mean / error), len(gap) - 1))
    return Difference(mean, mean - reach, mean + reach, p, effect)


def holm(p: Sequence[float]) -> list[float]:
    """Each p adjusted for the number of tests (Holm 1979), in the same order.

    >>> [round(each, 3) for each in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    raw = np.asarray(p, dtype=np.float64)
    if not ((raw >= 0) & (raw <= 1)).all():
        raise BadInput(f"p must be probabilities, 0 to 1. Got {list(p)}; leave out unknown ones.")
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty(len(raw))
    steps = raw[order] * np.arange(len(raw), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(each) for each in adjusted]


def _gap(ours: FloatArray, theirs: FloatArray, what: str) -> FloatArray:
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise BadInput(f"ours and theirs must be of the same {what}. Got {a.shape} and {b.shape}.")
    if len(a) < 2:
        raise BadInput(
            f"A difference needs at least 2 {what}. Got {len(a)}; replay or split into more."
        )
    gap = a - b
    if not np.isfinite(gap).all():
        raise BadInput(f"ours and theirs must be finite. Got {gap[~np.isfinite(gap)][0]}.")
    return gap


def _resampled(gap: FloatArray, length: int, draws: int, seed: int) -> FloatArray:
    """Means of series made of random blocks of days; after the last day follows the first."""
    n = len(gap)
    sums = np.concatenate([[0.0], np.cumsum(np.concatenate([gap, gap[:length]]))])
    lengths = np.full(math.ceil(n / length), length)
    lengths[-1] = n - length * (len(lengths) - 1)
    begin = np.random.default_rng(seed).integers(n, size=(draws, len(lengths)))
    total: FloatArray = (sums[begin + lengths] - sums[begin]).sum(axis=1)
    return total / n


def _effect(gap: FloatArray) -> float:
    mean, spread = float(gap.mean()), float(gap.std(ddof=1))
    if spread <= ROUNDING * float(np.abs(gap).max()):
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / spread
