"""The worth of the new content that a run finds, if it loses half of it every few days.

Lefortier et al. 2013: content that appears at a time and is fetched s days later is worth e^{−μs}.
A change is new content, and so is a page that appears.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.model import DAY
from recrawl.policies.indices import HALF_LIFE_DAYS

if TYPE_CHECKING:
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray


def ephemeral_worth(trace: Trace, log: FetchLog) -> dict[str, float]:
    """The worth of the content found, as a share of what it was when it appeared past warm-up."""
    content = _appeared(trace, log.times[log.warm_up])
    if not len(content):
        return {"ephemeral": 1.0}
    delay = _delays(trace, log, content)
    return {"ephemeral": float((0.5 ** (delay / DAY / HALF_LIFE_DAYS)).mean())}


def _appeared(trace: Trace, begin: float) -> IntArray:
    """The versions with new content after `begin`: changes, and the first ones of pages."""
    is_new = np.diff(trace.steps, prepend=-1) > 0
    inside = (trace.valid_from > begin) & (trace.valid_from <= trace.window[1])
    return np.flatnonzero(is_new & inside & (trace.status < 300))


def _delays(trace: Trace, log: FetchLog, version: IntArray) -> FloatArray:
    """Seconds until the first fetch of each version's page that succeeds; infinite without one."""
    done = np.flatnonzero(log.succeeded)
    done = done[np.lexsort((log.at[done], log.page[done]))]
    start = np.searchsorted(log.page[done], np.arange(len(trace) + 1))
    since = trace.valid_from[version]
    delays: FloatArray = _first_after(start, log.at[done], trace.page[version], since) - since
    return delays


@njit(cache=True)
def _first_after(start, at, page, since):  # type: ignore[no-untyped-def]
    found = np.full(len(page), np.inf)
    for i in range(len(page)):
        first, end = start[page[i]], start[page[i] + 1]
        place = first + np.searchsorted(at[first:end], since[i])
        if place < end:
            found[i] = at[place]
    return found
