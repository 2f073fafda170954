"""Platt scaling (§8.3): decision values to probabilities, fitted as in Lin, Lin & Weng (2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.papers.radinsky.learners.svm import fit_svm

if TYPE_CHECKING:
    from recrawl.model import FloatArray

MAX_STEPS = 100
RIDGE = 1e-12  #: added to the Hessian's diagonal
MIN_STEP = 1e-10  #: of the line search
TOLERANCE = 1e-5  #: of the gradient
FOLDS = 3


@njit(cache=True, nogil=True)
def fit_calibrated(kernel, yes, cost):  # type: ignore[no-untyped-def]
    """Weight of each example, the threshold, and Platt's line of an SVM.

    The line is fitted to decision values of examples that the SVM was not trained on. Every fold
    has both labels if there are enough of them.
    """
    n = len(yes)
    y, costs = np.where(yes, 1.0, -1.0), np.full(n, cost)
    number = np.where(yes, np.cumsum(yes), np.cumsum(~yes))
    held_out = np.empty(n)
    for fold in range(FOLDS):
        inside, outside = (
            np.flatnonzero(number % FOLDS != fold),
            np.flatnonzero(number % FOLDS == fold),
        )
        rows = kernel[inside]
        weight, threshold, _ = fit_svm(
            np.ascontiguousarray(rows[:, inside]), y[inside], costs[inside]
        )
        for i in outside:
            held_out[i] = -threshold
            for j in range(len(inside)):
                held_out[i] += weight[j] * kernel[i, inside[j]]
    weight, threshold, _ = fit_svm(kernel, y, costs)
    return weight, threshold, fit_platt(held_out, yes)


@njit(cache=True, nogil=True)
def fit_platt(decision, yes):  # type: ignore[no-untyped-def]
    """The line (a, b) of p = 1 / (1 + e^{a · decision + b}).

    Targets are (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2), so no probability is 0 or 1. The decision
    values must be of examples that the classifier was not trained on.
    """
    n_yes = yes.sum()
    n_no = len(yes) - n_yes
    target = np.where(yes, (n_yes + 1) / (n_yes + 2), 1 / (n_no + 2))
    a, b = 0.0, np.log((n_no + 1) / (n_yes + 1))
    loss = _loss(a * decision + b, target)
    for _ in range(MAX_STEPS):
        p = 1.0 / (1.0 + np.exp(np.minimum(np.maximum(a * decision + b, -700.0), 700.0)))
        slope, curvature = target - p, p * (1 - p)
        by_a, by_b = (decision * slope).sum(), slope.sum()
        if max(abs(by_a), abs(by_b)) < TOLERANCE:
            break
        aa = (decision * decision * curvature).sum() + RIDGE
        ab, bb = (decision * curvature).sum(), curvature.sum() + RIDGE
        size = 1.0 / (aa * bb - ab * ab)
        step_a, step_b = (bb * by_a - ab * by_b) * size, (aa * by_b - ab * by_a) * size
        size = 1.0
        new = _loss((a - step_a) * decision + b - step_b, target)
        while size > MIN_STEP and new > loss:
            size /= 2
            new = _loss((a - size * step_a) * decision + b - size * step_b, target)
        if size <= MIN_STEP:
            break
        a, b, loss = a - size * step_a, b - size * step_b, new
    return a, b


def probability(decision: FloatArray, line: tuple[float, float]) -> FloatArray:
    """Probability of a change, by the sigmoid with the line of `fit_platt`."""
    z = np.clip(line[0] * decision + line[1], -700.0, 700.0)
    p: FloatArray = 1.0 / (1.0 + np.exp(z))
    return p


@njit(cache=True, nogil=True)
def _loss(z, target):  # type: ignore[no-untyped-def]
    """Cross-entropy of the targets."""
    total = 0.0
    for i in range(len(z)):
        total += max(z[i], 0.0) + np.log1p(np.exp(-abs(z[i]))) - (1 - target[i]) * z[i]
    return total
