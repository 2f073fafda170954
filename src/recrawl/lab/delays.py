"""The share of new links that a run finds within some days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray

WITHIN_DAYS = (1, 7)


def links_found(trace: Trace, log: FetchLog) -> dict[str, float]:
    """The share of the links added to pages past warm-up that were found within 1 and 7 days.

    Links added too late for the window to contain these days do not count.
    """
    begin, end = log.times[log.warm_up], trace.window[1]
    added_at, n_added = _added(trace, begin)
    found_since, delay = _found(trace, log, begin)
    shares = {}
    for days in WITHIN_DAYS:
        last = end - days * DAY
        all_links = n_added[added_at <= last].sum()
        found = ((found_since <= last) & (delay <= days * DAY)).sum()
        shares[f"links_within_{days}d"] = float(found / all_links) if all_links else 1.0
    return shares


def _added(trace: Trace, begin: float) -> tuple[FloatArray, FloatArray]:
    """The times of the versions after `begin`, and how many links each added."""
    page = trace.page
    later = np.flatnonzero((page[1:] == page[:-1]) & (trace.valid_from[1:] > begin)) + 1
    later = later[trace.valid_from[later] <= trace.window[1]]
    new = np.sum(trace.links.new(later - 1, later), axis=0)
    return trace.valid_from[later], new


def _found(trace: Trace, log: FetchLog, begin: float) -> tuple[FloatArray, FloatArray]:
    """For each link added after `begin` and found: when it was added, and the delay in seconds."""
    before, after = log.versions(trace)
    born = trace.start[log.page]  # links of a page's first version are not new
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
    """For links in `after`, not in `before`: when they were last added, and the delay to `at`."""
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
