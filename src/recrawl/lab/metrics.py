"""Metrics of a run, from its fetches and the trace, not from what the policy claims."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import BoolArray, FloatArray, IntArray

MAX_LINKS_PER_VISIT = 50  #: new links that count, so that one event does not hide all others


@dataclass(frozen=True)
class DailyMetrics:
    """A number for each cycle past warm-up; shares and means are over the pages that exist then."""

    fetched: FloatArray
    changed: FloatArray  #: fetches that showed a change
    weighted: FloatArray  #: the same, by the weight of the page
    first: FloatArray  #: fetches that brought the first copy of a page
    ndcg: FloatArray  #: of the plan's order; 1 if nothing could be found
    fresh: FloatArray  #: share of copies equal to the live page, after the fetches
    embarrassed: FloatArray  #: share of the pages' weight on copies that are not, or are missing
    age: FloatArray  #: days since the first change not seen, mean over pages, after the fetches
    harmonic: FloatArray  #: H(n) for n changes not seen, mean over pages, after the fetches
    fresh_time: FloatArray  #: share of the time until the next cycle that copies are fresh
    seconds: FloatArray  #: until the next cycle, or the end of the window
    new_internal: FloatArray
    new_external: FloatArray
    new_capped: FloatArray  #: new links, at most MAX_LINKS_PER_VISIT of a visit
    never_seen: FloatArray  #: links that no copy of any page had held
    known: FloatArray  #: fetches to which the trace has a certain answer


def daily(trace: Trace, log: FetchLog, weight: FloatArray | None = None) -> DailyMetrics:
    """The metrics of each cycle of a run; `weight` is the weight of each page, by default 1."""
    weights = np.ones(len(trace)) if weight is None else weight
    copy = np.full(len(trace), -1)
    seen = np.zeros(len(trace.links.page), np.bool_)
    rows = []
    versions = log.versions(trace)
    ends = np.append(log.times[1:], trace.window[1])
    for number, spent in enumerate(log.by_cycle()):
        now = float(log.at[spent].max(initial=log.times[number]))
        live = trace.live_at(now)
        possible = int(differ(trace, copy, live).sum())
        came = log.succeeded[spent]
        page, before, after = (c[spent][came] for c in (log.page, *versions))
        hit = differ(trace, before, after)
        internal, external = trace.links.new(before, after)
        unseen = trace.links.mark(after, seen)
        copy[page] = after
        until = max(ends[number], now)
        rows.append(
            (
                spent.stop - spent.start,
                hit.sum(),
                weights[page[hit]].sum() / weights.mean(),
                (before < 0).sum(),
                ndcg(hit, max(possible, int(hit.sum()))),
                *_state(trace, copy, live, now, weights),
                _fresh_until(trace, copy, now, until),
                until - now,
                internal.sum(),
                external.sum(),
                np.minimum(internal + external, MAX_LINKS_PER_VISIT).sum(),
                unseen,
                _certain(trace, log.page[spent], log.at[spent]),
            )
        )
    names = [f.name for f in fields(DailyMetrics)]
    columns = np.array(rows[log.warm_up + 1 :], dtype=np.float64).reshape(-1, len(names)).T
    return DailyMetrics(**dict(zip(names, columns, strict=True)))


def summary(run: DailyMetrics) -> dict[str, float]:
    """The metrics of a whole run by name: means over fetches, cycles or time.

    The overhead of discovery (Dasgupta et al. 2007) is the fetches of pages that we had, for each
    link and each page that is new. If none is, it is the number of these fetches.
    """
    fetched = max(run.fetched.sum(), 1.0)
    old = (run.fetched - run.first).sum()
    a_fetch = {
        "change_ratio": run.changed,
        "weighted_change_ratio": run.weighted,
        "new_links_per_fetch": run.new_internal + run.new_external,
        "new_internal_per_fetch": run.new_internal,
        "new_external_per_fetch": run.new_external,
        "new_links_capped_per_fetch": run.new_capped,
        "never_seen_per_fetch": run.never_seen,
        "new_pages_per_fetch": run.first,
    }
    a_cycle = {
        "freshness": run.fresh,
        "embarrassment": run.embarrassed,
        "age_days": run.age,
        "harmonic": run.harmonic,
        "ndcg": run.ndcg,
    }
    seconds = run.seconds if run.seconds.any() else None  # one cycle, at the end of the window
    return (
        {name: float(column.sum() / fetched) for name, column in a_fetch.items()}
        | {name: float(column.mean()) for name, column in a_cycle.items()}
        | {
            "overhead_per_link": float(old / max(run.never_seen.sum(), 1.0)),
            "overhead_per_page": float(old / max(run.first.sum(), 1.0)),
            "freshness_time": float(np.average(run.fresh_time, weights=seconds)),
            "known": float(run.known.sum() / fetched) if run.fetched.any() else 1.0,
        }
    )


def starved(trace: Trace, log: FetchLog) -> IntArray:
    """The pages that exist in the second half of the cycles and are not visited in it."""
    middle = (log.warm_up + len(log.times)) // 2
    late = np.unique(log.page[log.cycle > middle])
    there = (trace.live_at(log.times[middle]) >= 0) & (trace.live_at(log.times[-1]) >= 0)
    return np.setdiff1d(np.flatnonzero(there), late)


def claims(trace: Trace, log: FetchLog) -> tuple[FloatArray, BoolArray]:
    """For each successful fetch past warm-up: the predicted probability, and if it was a change."""
    rows = log.succeeded & np.isfinite(log.p_change)
    before, after = log.versions(trace)
    return log.p_change[rows], differ(trace, before[rows], after[rows])


def ndcg(hits: BoolArray, possible: int) -> float:
    """How early in the plan the changed pages come (Santos et al. 2015, natural logarithms)."""
    gain = np.ones(max(len(hits), 1))
    gain[1:] = 1 / np.log(np.arange(2, len(gain) + 1) + 1)
    best = gain[: min(len(hits), possible)].sum()
    return float(gain[: len(hits)][hits].sum() / best) if best > 0 else 1.0


def differ(trace: Trace, copy: IntArray, live: IntArray) -> BoolArray:
    """Which pages would show a change: we have a copy, the page exists, and they differ."""
    is_other: BoolArray = (copy >= 0) & (live >= 0) & (trace.content[copy] != trace.content[live])
    return is_other


def _certain(trace: Trace, page: IntArray, at: FloatArray) -> int:
    """The number of these pages for which the trace has an observed version."""
    return len(page) if trace.certain is None else trace.certain[trace.version(page, at)].sum()


def _state(
    trace: Trace, copy: IntArray, live: IntArray, now: float, weights: FloatArray
) -> tuple[float, float, float, float]:
    """Freshness, embarrassment, age and harmonic staleness of the copies."""
    there, held = live >= 0, copy >= 0
    stale = differ(trace, copy, live) | (there & ~held)
    first = trace.start[:-1]
    age = (now - trace.valid_from[np.where(held, trace.next_change[copy], first)]) / DAY
    missed = trace.steps[live] - trace.steps[np.where(held, copy, first)] + ~held
    missed = np.where(there, np.maximum(missed, 0), 0)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, missed.max(initial=0) + 1))])
    n = max(int(there.sum()), 1)
    return (
        1 - float(stale.sum() / n),
        float(weights[stale].sum() / max(weights[there].sum(), 1e-300)),
        float(age[stale].sum() / n),
        float(harmonic[missed].sum() / n),
    )


def _fresh_until(trace: Trace, copy: IntArray, now: float, until: float) -> float:
    """The share of the time in which pages exist that our copies equal them."""
    until = max(until, now + 1e-6)  # at the end of the window no time is left
    args = (trace.start, trace.valid_from, trace.status, trace.content, copy)
    fresh, there = _fresh_share(*args, trace.version_at(now), now, until)
    return float(fresh / there) if there > 0 else 1.0


@njit(cache=True)
def _fresh_share(start, valid_from, status, content, copy, version, now, until):  # type: ignore[no-untyped-def]
    fresh = there = 0.0
    for page in range(len(copy)):
        at, begin = version[page], now
        while begin < until:
            following = at + 1 if at >= 0 else start[page]
            more = following < start[page + 1] and valid_from[following] < until
            end = valid_from[following] if more else until
            if at >= 0 and status[at] < 300:
                there += end - begin
                if copy[page] >= 0 and content[at] == content[copy[page]]:
                    fresh += end - begin
            begin, at = end, following
    return fresh, there
