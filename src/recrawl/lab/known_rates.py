"""How good could one be who knows how often each page changes, but not when?

Poisson changes at the rates seen over the whole window, visits evenly spaced at the rates that are
best for each objective: an oracle in-sample, and in the long run. Real changes come in bursts, so a
policy that sees them coming may do better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.allocate import age_rates, freshness_rates
from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray


def known_rates(trace: Trace, log: FetchLog) -> dict[str, float]:
    """The best change ratio, freshness and age at the rates seen, for the budget of a run."""
    every = (log.times[-1] - log.times[0]) / (len(log.times) - 1) / DAY
    return best(rates(trace), log.fetches / every, most=1 / every)


def rates(trace: Trace) -> FloatArray:
    """Changes a day of each page, as seen over the window."""
    begin, end = trace.window
    inside = (trace.valid_from > begin) & (trace.valid_from <= end)
    inside &= np.diff(trace.steps, prepend=0) > 0
    inside[trace.start[:-1]] = False  # a birth is no change
    changes = np.bincount(trace.page, inside, minlength=len(trace)).astype(np.float64)
    rate: FloatArray = changes * (DAY / (end - begin))
    return rate


def best(rate: FloatArray, budget: float, *, most: float = np.inf) -> dict[str, float]:
    """The same for any rates and a budget of visits a day, at `most` so many to one page."""
    moving = rate[rate > 0]
    if not moving.size:
        return {"change_ratio": 0.0, "freshness": 1.0, "age_days": 0.0}
    visits = _change_ratio_rates(moving, min(budget, most * len(moving)), most)
    found = (visits * -np.expm1(-moving / visits)).sum()
    fresh = _fresh(moving, freshness_rates(moving, budget)).sum() + len(rate) - len(moving)
    age = _age(moving, age_rates(moving, budget)).sum()
    return {
        "change_ratio": float(found / budget),
        "freshness": float(fresh / len(rate)),
        "age_days": float(age / len(rate)),
    }


def _change_ratio_rates(rate: FloatArray, budget: float, most: float) -> FloatArray:
    """Visits in proportion to the rate, no page more than `most`: the rest goes to the others."""
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
