"""What probability does a score stand for? Platt's sigmoid, fitted as Lin, Lin & Weng (2007) do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray

_STEPS = 100
_STEADY = 1e-12  # added to the curvature
_FLAT = 1e-5  # the slope at which it is found


def platt(score: FloatArray, yes: BoolArray) -> tuple[float, float]:
    """The line a, b of p = 1 / (1 + e^{a · score + b}).

    Targets are (N₊ + 1) / (N₊ + 2) and 1 / (N₋ + 2), so that nothing is ever certain. The scores
    must not be of what the machine was taught with.
    """
    many = int(yes.sum())
    target = np.where(yes, (many + 1) / (many + 2), 1 / (len(yes) - many + 2))
    line = np.array([0.0, np.log((len(yes) - many + 1) / (many + 1))])
    design = np.column_stack([score, np.ones(len(score))])
    loss = _loss(design @ line, target)
    for _ in range(_STEPS):
        p = probability(design @ line, (1.0, 0.0))
        slope = design.T @ (target - p)
        if np.abs(slope).max() < _FLAT:
            break
        bend = (design * (p * (1 - p))[:, None]).T @ design + _STEADY * np.eye(2)
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while size > 1e-10 and (new := _loss(design @ (line - size * step), target)) > loss:
            size /= 2
        if size <= 1e-10:
            break
        line, loss = line - size * step, new
    return float(line[0]), float(line[1])


def probability(score: FloatArray, line: tuple[float, float]) -> FloatArray:
    """That of a change, by the sigmoid that `platt` found."""
    z = np.clip(line[0] * score + line[1], -700.0, 700.0)
    p: FloatArray = 1.0 / (1.0 + np.exp(z))
    return p


def _loss(z: FloatArray, target: FloatArray) -> float:
    return float((np.logaddexp(0.0, z) - (1 - target) * z).sum())
