"""How late are new links found?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray

WITHIN = (1, 7)  #: days


def links_found(trace: Trace, log: FetchLog) -> dict[str, float]:
    """The share of the links new on a page past warm-up that were found within some days.

    Links that come so late that the window ends before those days are over do not count.
    """
    begin, end = log.times[log.warm_up], trace.window[1]
    came = _came(trace, begin)
    appeared, delay = _found(trace, log, begin)
    shares = {}
    for days in WITHIN:
        late = end - days * DAY
        all_links = came[1][came[0] <= late].sum()
        found = ((appeared <= late) & (delay <= days * DAY)).sum()
        shares[f"links_within_{days}d"] = float(found / all_links) if all_links else 1.0
    return shares


def _came(trace: Trace, begin: float) -> tuple[FloatArray, FloatArray]:
    """When versions past `begin` came, and how many new links each brought."""
    page = trace.page
    later = np.flatnonzero((page[1:] == page[:-1]) & (trace.valid_from[1:] > begin)) + 1
    later = later[trace.valid_from[later] <= trace.window[1]]
    new = np.sum(trace.links.new(later - 1, later), axis=0)
    return trace.valid_from[later], new


def _found(trace: Trace, log: FetchLog, begin: float) -> tuple[FloatArray, FloatArray]:
    """Of each link found past `begin` when it had appeared, and how many seconds before."""
    before, after = log.versions(trace)
    born = trace.start[log.page]  # what a page is born with is not new on it
    before = np.where(before < 0, born, before)
    moved = (after >= 0) & (after != before)
    since, late = _appeared(
        trace.links.start,
        trace.links.target,
        trace.valid_from,
        before[moved],
        after[moved],
        log.at[moved],
    )
    return since[since > begin], late[since > begin]


@njit(cache=True)
def _appeared(start, target, valid_from, before, after, at):  # type: ignore[no-untyped-def]
    """When links that `after` has and `before` has not came, to stay, and how long before `at`."""
    most = 0
    for version in after:
        most += start[version + 1] - start[version]
    since, late = np.empty(most), np.empty(most)
    found = 0
    for i in range(len(after)):
        for link in target[start[after[i]] : start[after[i] + 1]]:
            version = after[i]
            while version > before[i] and _has(start, target, version - 1, link):
                version -= 1
            if version > before[i]:
                since[found] = valid_from[version]
                late[found] = at[i] - since[found]
                found += 1
    return since[:found], late[:found]


@njit(cache=True)
def _has(start, target, version, wanted):  # type: ignore[no-untyped-def]
    low, high = start[version], start[version + 1]
    at = low + np.searchsorted(target[low:high], wanted)
    return at < high and target[at] == wanted
