"""Measures real crawls of a known web like replays: the visits of a store as a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.history.fold import OK, status_outcomes
from recrawl.history.store import Store
from recrawl.lab.compare import Comparison
from recrawl.lab.replay import FetchLog, cycle_times
from recrawl.model import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recrawl.lab.trace import Trace


def judge(
    trace: Trace, stores: Sequence[Path], *, every: float = DAY, warm_up: int = 0
) -> Comparison:
    """Compare the crawls of stores with the truth; the first is the baseline of the others.

    Cycles are `every` seconds long from the beginning of the window. The first `warm_up` cycles do
    not count.
    """
    comparison = Comparison(baseline=stores[0].name)
    logs = {path.name: log_of_store(trace, path, every=every, warm_up=warm_up) for path in stores}
    if len(logs) < len(stores):
        raise BadInput("Stores must have different names: a report calls them by these.")
    most = max(log.fetches for log in logs.values())
    for name, log in logs.items():
        comparison.add_run(trace, [log], policy=name, budget=str(most))
    longest = replace(max(logs.values(), key=lambda log: len(log.times)), fetches=most)
    spent = [log.spent() for log in logs.values()]
    comparison.add_limits(trace, longest, budget=str(most), spent=spent)
    return comparison


def log_of_store(trace: Trace, store: Path, *, every: float, warm_up: int) -> FetchLog:
    """The visits of a store as a run. A URL with http and the same with https are one page."""
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
    succeeded = status_outcomes(visits["status"].to_numpy().astype(np.int16))[inside] == OK
    cycle = ((at - begin) / every).astype(np.int32) + 1  # before cycle 1 there are no copies
    times = np.append(begins[:1], begins)
    np.maximum.at(times, cycle, at)  # a cycle is measured after its last fetch
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
        succeeded=succeeded,
        p_change=np.full(len(page), np.nan),
        fetches=int(spent.max()),
        moments=(moments, np.searchsorted(times, moments, side="right")),
    )


_VISITS = """
SELECT url, epoch_us(visits.at) / 1e6 AS "at", coalesce(status, -1) AS status
FROM visits JOIN pages USING (page_id) ORDER BY visits.at
"""
