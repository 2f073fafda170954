"""How good could any policy have been?"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from recrawl.lab.metrics import CAP

if TYPE_CHECKING:
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import IntArray


def clairvoyant(trace: Trace, log: FetchLog, fetched: int) -> dict[str, float]:
    """The limits of the change ratio and of new links a fetch, for runs of `fetched` or more.

    A run that cannot spend its budget finds no more than one that can, in fewer fetches: divided by
    the fewest that a run made, the limits hold for every run.
    """
    return {
        "change_ratio": min(most_changes(trace, log) / max(fetched, 1), 1.0),
        "new_links_per_fetch": many_links(trace, log) / max(fetched, 1),
        "new_links_capped_per_fetch": many_links(trace, log, cap=CAP) / max(fetched, 1),
    }


def captured(change_ratio: float, baseline: float, limit: float) -> float | None:
    """How far a run gets on the way from the baseline's change ratio, 0, to the limit, 1.

    None where the baseline is at the limit.

    >>> captured(0.5, baseline=0.25, limit=0.75)
    0.5
    """
    return (change_ratio - baseline) / (limit - baseline) if limit > baseline else None


def many_links(trace: Trace, log: FetchLog, cap: float = np.inf) -> int:
    """New links of one who takes, each cycle, the pages that have most of them now.

    Greedy, so not a proven maximum; where links stay once they are there, next to nothing is lost.
    The first copy of a page born later is given. A visit counts for `cap` links at most. A replay
    has copies of all pages after warm-up; of a crawl, only that it has none younger than its begin.
    """
    replayed = bool((log.cycle == 0).any())
    copy = trace.live_at(log.times[log.warm_up if replayed else 0])
    found = 0
    for now in log.times[log.warm_up + 1 :]:
        live = trace.live_at(now)
        copy = np.where(copy < 0, live, copy)
        moved = np.flatnonzero((copy != live) & (live >= 0))
        new = np.minimum(np.sum(trace.links.new(copy[moved], live[moved]), axis=0), cap)
        best = np.argsort(-new, kind="stable")[: log.fetches]
        copy[moved[best]] = live[moved[best]]
        found += int(new[best].sum())
    return found


def most_changes(trace: Trace, log: FetchLog) -> int:
    """How many changes one finds who knows them all: earliest deadline first.

    A change is a job of one fetch that can be done until the page changes again; for such jobs
    earliest deadline first is optimal. What changed in warm-up counts as if it had not been seen,
    and a page away for a while as if it were there; that can only raise the bound.
    """
    first = log.warm_up + 1
    released: dict[int, list[int]] = {}
    for at, until in zip(*_changes(trace, log), strict=True):
        if until >= first:
            released.setdefault(max(at, first), []).append(until)
    done, open_jobs = 0, list[int]()
    for now in range(first, len(log.times)):
        for until in released.get(now, ()):
            heapq.heappush(open_jobs, until)
        while open_jobs and open_jobs[0] < now:
            heapq.heappop(open_jobs)
        for _ in range(min(log.fetches, len(open_jobs))):
            heapq.heappop(open_jobs)
            done += 1
    return done


def _changes(trace: Trace, log: FetchLog) -> tuple[list[int], list[int]]:
    """Of each change the first cycle that can see it, and the last.

    A page that goes and comes back as it was has not changed; as another, it has.
    """
    moments, cycle = log.moments
    first = np.searchsorted(moments, trace.valid_from)  # moment that can see a version
    end = np.append(first[1:], 0)
    end[trace.start[1:] - 1] = len(moments)
    seen = np.flatnonzero((first < end) & (trace.status < 300))
    page, content = trace.page[seen], trace.content[seen]
    born = np.diff(page, prepend=-1) != 0
    other = np.flatnonzero(born | (np.diff(content, prepend=content[:1]) != 0))
    last = np.append(other, len(seen))[1:] - 1
    change: IntArray = ~born[other]
    return (
        cycle[first[seen[other[change]]]].tolist(),
        cycle[end[seen[last[change]]] - 1].tolist(),
    )
