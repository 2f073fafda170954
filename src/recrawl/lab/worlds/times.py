"""Random times of changes, in days from the beginning of the world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gamma

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray


def mixed_rates(pages: int, shape: float, mean: float, random: np.random.Generator) -> FloatArray:
    """Changes a day of each page, gamma distributed: most pages hardly ever change."""
    return random.gamma(shape, mean / shape, pages)


def poisson(
    rate: FloatArray, days: float, random: np.random.Generator, *, begin: float = 0.0
) -> tuple[IntArray, FloatArray]:
    """The page and the time of each change of independent Poisson pages."""
    counts = random.poisson(rate * (days - begin))
    page = np.repeat(np.arange(len(rate)), counts)
    return page, random.uniform(begin, days, len(page))


def seasonal(
    rate: FloatArray, weight: FloatArray, season: IntArray, random: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Poisson pages whose rate is multiplied by weight[season of the page, day]."""
    total = weight.sum(axis=1)
    counts = random.poisson(rate * total[season])
    page = np.repeat(np.arange(len(rate)), counts)
    # Cumulative weights of all seasons on one line, so that one search serves them all.
    line = np.cumsum(weight, axis=1) / total[:, None] + np.arange(len(weight))[:, None]
    line[:, -1] = np.arange(len(weight)) + 1.0
    place = np.searchsorted(line.ravel(), season[page] + random.random(len(page)), side="right")
    return page, place % weight.shape[1] + random.random(len(page))


def weibull(
    rate: FloatArray, shape: float, days: int, random: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Renewals with Weibull gaps of mean 1 / rate, stationary from the beginning of the world."""
    scale = 1.0 / (rate * gamma(1.0 + 1.0 / shape))
    # A long gap is more likely to contain the beginning, so the first is drawn by its length.
    now = scale * random.gamma(1.0 + 1.0 / shape, size=len(rate)) ** (1.0 / shape)
    now *= random.random(len(rate))
    page, at = [], []
    going = np.flatnonzero(now < days)
    while len(going):
        page.append(going)
        at.append(now[going])
        now[going] += scale[going] * random.weibull(shape, len(going))
        going = going[now[going] < days]
    return np.concatenate([*page, going]), np.concatenate([*at, now[going]])
