"""What would a visitor reach who knows how often each page changes, but not when?

Such visitors are simulated on the trace itself, so no limit of it is below what they reach. One
knows the rates of the whole window, which no crawler can. Another knows, of each page, all
changes until its own last visit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.lab.ephemeral import ephemeral_worth
from recrawl.lab.metrics import daily, differ, summary
from recrawl.lab.replay import FetchLog
from recrawl.model import DAY
from recrawl.policies.indices import INDICES

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray

    Index = Callable[[FloatArray, FloatArray], FloatArray]

#: The metric that each index is best for, at known rates.
METRICS = {
    "change-ratio": "change_ratio",
    "freshness": "freshness",
    "age": "age_days",
    "ephemeral": "ephemeral",
}
PRIOR_CHANGES = 0.5  #: of a page, at the mean rate: what is believed of it before anything is seen
MIN_RATE = 1e-6  #: changes a day of a page that was never seen to change


def known_rates(trace: Trace, log: FetchLog) -> dict[str, float]:
    """What visitors reach who know rates, in the cycles and with the budget of a run.

    `…_known_rates` is the metric of a visitor who knows the rates of the whole window and ranks
    pages by the index for this metric. `change_ratio_past_rates` is that of a visitor by λ·t who
    knows only how often a page had changed when it last visited it.
    """
    events = [_events(changed, n) for n, changed in enumerate(_changed_so_far(trace, log))]
    days = np.maximum(log.times - log.times[0], 1.0) / DAY
    whole = [np.maximum(events[-1] / days[-1], MIN_RATE)] * len(days)
    past = [_shrunk(n_events, passed) for n_events, passed in zip(events, days, strict=True)]
    reached = {
        f"{metric}_known_rates": _reached(trace, log, whole, INDICES[name])[metric]
        for name, metric in METRICS.items()
    }
    by_past = _reached(trace, log, past, INDICES["change-ratio"])
    return reached | {"change_ratio_past_rates": by_past["change_ratio"]}


def rates(trace: Trace) -> FloatArray:
    """The changes a day of each page, over the window."""
    begin, end = trace.window
    inside = (trace.valid_from > begin) & (trace.valid_from <= end)
    inside &= np.diff(trace.steps, prepend=0) > 0
    inside[trace.start[:-1]] = False  # a new page is not a change
    changes = np.bincount(trace.page, inside, minlength=len(trace)).astype(np.float64)
    rate: FloatArray = changes * (DAY / (end - begin))
    return rate


def _changed_so_far(trace: Trace, log: FetchLog) -> list[FloatArray]:
    """For each cycle: how often each page was different from the cycle before, until then."""
    changed, before = np.zeros(len(trace)), trace.live_at(log.times[0])
    so_far = [changed]
    for now in log.times[1:]:
        live = trace.live_at(now)
        changed = changed + differ(trace, before, live)
        so_far.append(changed)
        before = np.where(live >= 0, live, before)
    return so_far


def _events(changed: FloatArray, cycles: int) -> FloatArray:
    """The likely number of changes, given how many cycles show one (Cho & Garcia-Molina 2003)."""
    events: FloatArray = -cycles * np.log((cycles - changed + 0.5) / (cycles + 0.5))
    return events


def _shrunk(events: FloatArray, days: float) -> FloatArray:
    """The rate of each page by its changes so far, shrunk towards the mean of all."""
    mean = max(float(events.mean()) / days, MIN_RATE)
    rate: FloatArray = (events + PRIOR_CHANGES) / (days + PRIOR_CHANGES / mean)
    return rate


def _reached(trace: Trace, log: FetchLog, rate: list[FloatArray], index: Index) -> dict[str, float]:
    visits = _visits(trace, log, rate, index)
    return summary(daily(trace, visits)) | ephemeral_worth(trace, visits)


def _visits(trace: Trace, log: FetchLog, rate: list[FloatArray], index: Index) -> FetchLog:
    """The run of a visitor who ranks pages by an index of their rate as of its last visit.

    `rate` is what is known in each cycle; later than the last visit it would betray changes since.
    A visit teaches nothing of other pages, so the budget of a cycle is spent at once.
    """
    pages, last, known = [], np.full(len(trace), log.times[0]), rate[0].copy()
    for cycle, now in enumerate(log.times):
        there = np.flatnonzero(trace.live_at(now) >= 0)
        if cycle > log.warm_up:
            days = np.maximum(now - last[there], 1.0) / DAY
            there = there[_best(index(known[there], days), log.fetches)]
        last[there], known[there] = now, rate[cycle][there]
        pages.append(there)
    cycles = np.repeat(np.arange(len(pages), dtype=np.int32), [len(page) for page in pages])
    return FetchLog(
        times=log.times,
        warm_up=log.warm_up,
        cycle=cycles,
        page=np.concatenate(pages),
        at=log.times[cycles],
        succeeded=np.ones(len(cycles), np.bool_),
        p_change=np.full(len(cycles), np.nan),
        fetches=log.fetches,
        moments=log.moments,
    )


def _best(score: FloatArray, quota: int) -> IntArray:
    """The places of the highest scores, the highest first."""
    top = np.arange(len(score))
    if quota < len(score):
        top = np.argpartition(-score, quota)[:quota]
    best: IntArray = top[np.argsort(-score[top], kind="stable")]
    return best
