"""Platt scaling (§8.3): decision values to probabilities, fitted as in Lin, Lin & Weng (2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray

MAX_STEPS = 100
RIDGE = 1e-12  #: added to the Hessian's diagonal
MIN_STEP = 1e-10  #: of the line search
TOLERANCE = 1e-5  #: of the gradient


def fit_platt(decision: FloatArray, yes: BoolArray) -> tuple[float, float]:
    """The line (a, b) of p = 1 / (1 + e^{a · decision + b}).

    Targets are (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2), so no probability is 0 or 1. The decision
    values must be of examples that the classifier was not trained on.
    """
    n_yes = int(yes.sum())
    n_no = len(yes) - n_yes
    target = np.where(yes, (n_yes + 1) / (n_yes + 2), 1 / (n_no + 2))
    line = np.array([0.0, np.log((n_no + 1) / (n_yes + 1))])
    design = np.column_stack([decision, np.ones(len(decision))])
    loss = _loss(design @ line, target)
    for _ in range(MAX_STEPS):
        p = probability(design @ line, (1.0, 0.0))
        gradient = design.T @ (target - p)
        if np.abs(gradient).max() < TOLERANCE:
            break
        hessian = (design * (p * (1 - p))[:, None]).T @ design + RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > MIN_STEP and (new := _loss(design @ (line - size * step), target)) > loss:
            size /= 2
        if size <= MIN_STEP:
            break
        line, loss = line - size * step, new
    return float(line[0]), float(line[1])


def probability(decision: FloatArray, line: tuple[float, float]) -> FloatArray:
    """Probability of a change, by the sigmoid with the line of `fit_platt`."""
    z = np.clip(line[0] * decision + line[1], -700.0, 700.0)
    p: FloatArray = 1.0 / (1.0 + np.exp(z))
    return p


def _loss(z: FloatArray, target: FloatArray) -> float:
    """Cross-entropy of the targets."""
    return float((np.logaddexp(0.0, z) - (1 - target) * z).sum())
