"""How good could any policy have been?"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.lab.replay import Cycles
    from recrawl.lab.trace import Trace


def clairvoyant_links(trace: Trace, cycles: Cycles) -> float:
    """New links a fetch of one who takes, each cycle, the pages that have most of them now.

    Greedy, so not a proven maximum; where links stay once they are there, next to nothing is lost.
    """
    copy = trace.version_at(cycles.times[cycles.warm_up])
    found = 0
    for now in cycles.times[cycles.warm_up + 1 :]:
        live = trace.version_at(now)
        moved = np.flatnonzero(copy != live)
        new = np.sum(trace.links.new(copy[moved], live[moved]), axis=0)
        best = np.argsort(-new, kind="stable")[: cycles.fetches]
        copy[moved[best]] = live[moved[best]]
        found += int(new[best].sum())
    return found / max(cycles.fetches * (len(cycles.times) - cycles.warm_up - 1), 1)


def clairvoyant_change_ratio(trace: Trace, cycles: Cycles) -> float:
    """The change ratio of one who knows all changes: earliest deadline first.

    A change from one cycle to the next is a job of one fetch that can be done until the page
    changes again; for such jobs earliest deadline first is optimal. What changed in warm-up counts
    as if it had not been seen, which can only raise the bound.
    """
    content = np.array([trace.content[trace.version_at(now)] for now in cycles.times])
    cycle, page = np.nonzero(content[1:] != content[:-1])
    if not page.size:
        return 0.0
    order = np.lexsort((cycle, page))
    cycle, page = cycle[order] + 1, page[order]
    last = np.append(page[1:] != page[:-1], True)
    deadline = np.where(last, len(cycles.times) - 1, np.append(cycle[1:], 0) - 1)
    first = cycles.warm_up + 1
    released: dict[int, list[int]] = {}
    for at, until in zip(cycle.tolist(), deadline.tolist(), strict=True):
        if until >= first:
            released.setdefault(max(at, first), []).append(until)
    done, open_jobs = 0, list[int]()
    for now in range(first, len(cycles.times)):
        for until in released.get(now, ()):
            heapq.heappush(open_jobs, until)
        while open_jobs and open_jobs[0] < now:
            heapq.heappop(open_jobs)
        for _ in range(min(cycles.fetches, len(open_jobs))):
            heapq.heappop(open_jobs)
            done += 1
    return done / max(cycles.fetches * (len(cycles.times) - first), 1)
