"""Limits for a policy that knows how often each page changes, but not when.

Assumes Poisson changes at the rates seen over the whole window, and evenly spaced visits at the
rates that are optimal for each objective. Real changes come in bursts, so a policy that predicts
them may do better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.allocate import age_rates, ephemeral_rates, freshness_rates
from recrawl.model import DAY
from recrawl.policies.indices import HALF_LIFE_DAYS

if TYPE_CHECKING:
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray


def known_rates(trace: Trace, log: FetchLog) -> dict[str, float]:
    """The best value of each metric in `best` at the rates seen and a run's budget."""
    every = (log.times[-1] - log.times[0]) / (len(log.times) - 1) / DAY
    return best(rates(trace), log.fetches / every, most=1 / every)


def rates(trace: Trace) -> FloatArray:
    """The changes a day of each page, over the window."""
    begin, end = trace.window
    inside = (trace.valid_from > begin) & (trace.valid_from <= end)
    inside &= np.diff(trace.steps, prepend=0) > 0
    inside[trace.start[:-1]] = False  # a new page is not a change
    changes = np.bincount(trace.page, inside, minlength=len(trace)).astype(np.float64)
    rate: FloatArray = changes * (DAY / (end - begin))
    return rate


def best(rate: FloatArray, budget: float, *, most: float = np.inf) -> dict[str, float]:
    """The best change ratio, freshness, age in days and share of the worth of ephemeral content.

    `budget` is in visits a day. For the change ratio, a page gets at most `most` visits a day.
    """
    moving = rate[rate > 0]
    if not moving.size:
        return {"change_ratio": 0.0, "freshness": 1.0, "age_days": 0.0, "ephemeral": 1.0}
    visits = _change_ratio_rates(moving, min(budget, most * len(moving)), most)
    changes = (visits * -np.expm1(-moving / visits)).sum()
    fresh = _fresh(moving, freshness_rates(moving, budget)).sum() + len(rate) - len(moving)
    age = _age(moving, age_rates(moving, budget)).sum()
    kept = _fresh(
        np.full(len(moving), np.log(2.0) / HALF_LIFE_DAYS),
        ephemeral_rates(moving, budget, HALF_LIFE_DAYS),
    )
    return {
        "change_ratio": float(changes / budget),
        "freshness": float(fresh / len(rate)),
        "age_days": float(age / len(rate)),
        "ephemeral": float(np.average(kept, weights=moving)),
    }


def _change_ratio_rates(rate: FloatArray, budget: float, most: float) -> FloatArray:
    """Visits in proportion to the rate, at `most` a page; what is over goes to the other pages."""
    capped = np.zeros(len(rate), np.bool_)
    while True:
        free = budget - most * capped.sum() if capped.any() else budget
        visits = np.where(capped, most, rate * free / max(rate[~capped].sum(), 1e-300))
        over = (visits > most * (1 + 1e-12)) & ~capped
        if not over.any():
            return visits
        capped |= over


def _fresh(rate: FloatArray, visits: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        x = rate / visits
    return -np.expm1(-x) / x


def _age(rate: FloatArray, visits: FloatArray) -> FloatArray:
    x = rate / visits
    return (0.5 - 1 / x - np.expm1(-x) / x**2) / visits
