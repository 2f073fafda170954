"""How good was a crawl of a living web? Its visits as a run, measured like a replay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.history.fold import OK, outcomes
from recrawl.history.store import Store
from recrawl.lab.compare import Comparison, limit, measure
from recrawl.lab.replay import FetchLog, cycle_times
from recrawl.model import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recrawl.lab.trace import Trace


def judge(
    trace: Trace, stores: Sequence[Path], *, every: float = DAY, warm_up: int = 0
) -> Comparison:
    """Each store's crawl against the truth, the first one as the baseline of the others.

    Cycles are `every` seconds long from the beginning of the window; the first `warm_up` of them do
    not count.
    """
    found = Comparison(baseline=stores[0].name)
    runs = {path.name: crawled(trace, path, every=every, warm_up=warm_up) for path in stores}
    if len(runs) < len(stores):
        raise BadInput("Stores must have names of their own: they are what a report calls them.")
    most = max(log.fetches for log in runs.values())
    for name, log in runs.items():
        measure(found, trace, [log], policy=name, budget=str(most))
    longest = replace(max(runs.values(), key=lambda log: len(log.times)), fetches=most)
    spent = [log.spent() for log in runs.values()]
    limit(found, trace, longest, budget=str(most), spent=spent)
    return found


def crawled(trace: Trace, store: Path, *, every: float, warm_up: int) -> FetchLog:
    """The run that a store holds; http and https are the same page, as a living web has it."""
    begins = cycle_times(trace.window, every)
    visits = Store.open(store).query(_VISITS)
    place = {url.partition(":")[2]: row for row, url in enumerate(trace.urls)}
    page = np.array([place.get(u.partition(":")[2], -1) for u in visits["url"].to_pylist()])
    at = visits["at"].to_numpy()
    begin, end = trace.window
    inside = (page >= 0) & (at >= begin) & (at <= end)
    page, at = page[inside], at[inside]
    if not len(page):
        raise BadInput(f"The store {store} must hold visits to pages of the trace. It has none.")
    came = outcomes(visits["status"].to_numpy().astype(np.int16))[inside] == OK
    cycle = ((at - begin) / every).astype(np.int32) + 1  # before it there was no copy of anything
    times = np.append(begins[:1], begins)
    np.maximum.at(times, cycle, at)  # copies are looked at when the cycle's last one has come
    spent = np.bincount(cycle, minlength=len(times))[warm_up + 1 :]
    if not spent.any():
        raise BadInput(f"The store {store} must hold visits past warm-up, {warm_up}. It has none.")
    moments = np.union1d(times, trace.valid_from)
    moments = moments[(moments >= begin) & (moments < times[-1])]
    return FetchLog(
        times=times,
        warm_up=warm_up,
        cycle=cycle,
        page=page,
        at=at,
        succeeded=came,
        p_change=np.full(len(page), np.nan),
        fetches=int(spent.max()),
        moments=(moments, np.searchsorted(times, moments, side="right")),
    )


_VISITS = """
SELECT url, epoch_us(visits.at) / 1e6 AS "at", coalesce(status, -1) AS status
FROM visits JOIN pages USING (page_id) ORDER BY visits.at
"""
