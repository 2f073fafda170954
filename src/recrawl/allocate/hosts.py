"""Visit rates with a cap for each host.

Kolobov, Peres, Lubetzky & Horvitz 2019 (politeness). Solve without caps. Hosts above their cap get
exactly the cap, spread optimally over their pages. What they leave makes visits cheaper for the
rest, so they would stay above their cap; the rest is solved again. This ends at the optimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.allocate.objective import AllocationObjective, columns
from recrawl.allocate.spend import spend, spend_each
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray

CAP_TOLERANCE = 1.0 + 1e-12  #: a host at its cap is not above it
MIN_BUDGET_SHARE = 1e-15  #: less is left by rounding only


def within_host_caps(
    objective: AllocationObjective,
    rate: FloatArray,
    budget: float,
    host: IntArray,
    cap: FloatArray,
    weight: FloatArray | None = None,
) -> FloatArray:
    """Visits a day for each page, host h at most `cap[h]`; all of `budget` if the caps allow it."""
    rate, weight = columns(rate, budget, weight)
    cap = _checked(host, cap, len(rate))
    ratio = objective.ratio(rate, weight)
    out, left = np.zeros_like(rate), budget
    free = np.flatnonzero(cap[host] > 0.0)
    while len(free) and left > MIN_BUDGET_SHARE * budget:
        if cap[_present(host[free], cap)].sum() <= left:
            out[free] = _at_caps(objective, rate[free], ratio[free], host[free], cap)
            break
        out[free] = spend(objective, rate[free], ratio[free], left)
        above = np.bincount(host[free], out[free], len(cap)) > cap * CAP_TOLERANCE
        if not above.any():
            break
        full = above[host[free]]
        rows, free = free[full], free[~full]
        out[rows] = _at_caps(objective, rate[rows], ratio[rows], host[rows], cap)
        left -= float(cap[above].sum())
    return out


def _at_caps(
    objective: AllocationObjective,
    rate: FloatArray,
    ratio: FloatArray,
    host: IntArray,
    cap: FloatArray,
) -> FloatArray:
    present = _present(host, cap)
    number = np.cumsum(present) - 1
    return spend_each(objective, rate, ratio, cap[present], number[host])


def _present(host: IntArray, cap: FloatArray) -> BoolArray:
    return np.bincount(host, minlength=len(cap)) > 0


def _checked(host: IntArray, cap: FloatArray, pages: int) -> FloatArray:
    if host.shape != (pages,):
        raise BadInput(f"host must number the host of each of {pages} pages. Got {host.shape}.")
    if host.min() < 0 or host.max() >= len(cap):
        raise BadInput(
            f"host must number hosts from 0 to below {len(cap)}, the number of caps. "
            f"Got {host.min()} to {host.max()}; numpy.unique(..., return_inverse=True) gives them."
        )
    cap = np.asarray(cap, dtype=np.float64)
    if not (cap >= 0.0).all():
        raise BadInput(
            f"cap must be 0 or more visits a day for every host. Got {cap[~(cap >= 0.0)][0]}; "
            "a host without a cap has numpy.inf."
        )
    return cap
