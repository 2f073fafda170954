"""Limits: how good could any policy have been on a trace?"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from recrawl.lab.metrics import MAX_LINKS_PER_VISIT

if TYPE_CHECKING:
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import IntArray


def clairvoyant(trace: Trace, log: FetchLog, fetched: int) -> dict[str, float]:
    """The limits of the change ratio and of new links per fetch, for runs of `fetched` or more.

    A run that cannot spend its whole budget finds no more than one that can, but in fewer fetches.
    So the limits hold for every run if `fetched` is the smallest number of fetches of any run.
    """
    return {
        "change_ratio": min(most_changes(trace, log) / max(fetched, 1), 1.0),
        "new_links_per_fetch": many_links(trace, log) / max(fetched, 1),
        "new_links_capped_per_fetch": many_links(trace, log, cap=MAX_LINKS_PER_VISIT)
        / max(fetched, 1),
    }


def captured(change_ratio: float, baseline: float, limit: float) -> float | None:
    """How far a run gets on the way from the baseline's change ratio, 0, to the limit, 1.

    None where the baseline is at the limit.

    >>> captured(0.5, baseline=0.25, limit=0.75)
    0.5
    """
    return (change_ratio - baseline) / (limit - baseline) if limit > baseline else None


def many_links(trace: Trace, log: FetchLog, cap: float = np.inf) -> int:
    """The new links found by visiting, in each cycle, the pages with the most of them.

    Greedy, so not a proven maximum; it is close to one where links are not removed again. The first
    copy of a page that appears later is free. A visit counts for at most `cap` links. A replay
    starts with the copies of the warm-up, a crawl with the pages as they were when it began.
    """
    replayed = bool((log.cycle == 0).any())
    copy = trace.live_at(log.times[log.warm_up if replayed else 0])
    total = 0
    for now in log.times[log.warm_up + 1 :]:
        live = trace.live_at(now)
        copy = np.where(copy < 0, live, copy)
        moved = np.flatnonzero((copy != live) & (live >= 0))
        new = np.minimum(np.sum(trace.links.new(copy[moved], live[moved]), axis=0), cap)
        best = np.argsort(-new, kind="stable")[: log.fetches]
        copy[moved[best]] = live[moved[best]]
        total += int(new[best].sum())
    return total


def most_changes(trace: Trace, log: FetchLog) -> int:
    """The most changes that any schedule can find: earliest deadline first.

    A change is a job of one fetch whose deadline is the page's next change; for such jobs earliest
    deadline first is optimal. Changes during warm-up count as not yet seen, and a page that is gone
    for a while as present. Both can only raise the bound.
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
    """For each change the first and the last cycle that can see it.

    A page that is gone and comes back has changed only if its content is different.
    """
    moments, cycle = log.moments
    first = np.searchsorted(moments, trace.valid_from)  # the first moment that can see a version
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
