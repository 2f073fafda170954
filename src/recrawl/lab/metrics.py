"""How good was a run? Numbers from its raw cycles and the trace, not from a policy's claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.model import DAY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.lab.replay import Cycles
    from recrawl.lab.trace import Trace
    from recrawl.model import BoolArray, FloatArray, IntArray

CAP = 50  #: new links of one visit that count at most, where one event would drown the others


@dataclass(frozen=True)
class Daily:
    """One number a cycle past warm-up."""

    fetched: FloatArray
    changed: FloatArray  #: fetches that showed a change
    weighted: FloatArray  #: the same, by the weight of the page
    ndcg: FloatArray  #: of the plan's order; 1 if nothing could be found
    fresh: FloatArray  #: share of copies equal to the live page, after the fetches
    fresh_time: FloatArray  #: share of the time until the next cycle that copies are
    age: FloatArray  #: days since the first change not seen, mean over pages, after the fetches
    harmonic: FloatArray  #: H(n) for n changes not seen, mean over pages, after the fetches
    new_internal: FloatArray
    new_external: FloatArray
    new_capped: FloatArray  #: new links, at most CAP a visit
    never_seen: FloatArray  #: links that no copy of any page had held


def daily(trace: Trace, cycles: Cycles, weight: FloatArray | None = None) -> Daily:
    """Go through the run again, with the truth at hand."""
    worth = np.ones(len(trace)) if weight is None else weight
    edges = np.searchsorted(cycles.cycle, np.arange(len(cycles.times) + 1))
    copy = trace.version_at(cycles.times[0])
    seen = np.zeros(int(trace.links.target.max(initial=-1)) + 1, np.bool_)
    trace.links.mark(copy[copy >= 0], seen)
    rows = []
    for number in range(1, len(cycles.times)):
        fetched = slice(edges[number], edges[number + 1])
        spent, page = fetched.stop - fetched.start, cycles.page[fetched][cycles.succeeded[fetched]]
        live = trace.version_at(cycles.times[number])
        stale = _differ(trace.content, copy, live)
        before, after = copy[page], live[page]
        internal, external = trace.links.new(before, after)
        fresh_links = trace.links.mark(after[after >= 0], seen)
        copy[page] = after
        until = cycles.times[number + 1] if number + 1 < len(cycles.times) else trace.window[1]
        rows.append(
            (
                spent,
                stale[page].sum(),
                worth[page[stale[page]]].sum() / worth.mean(),
                ndcg(stale[page], int(stale.sum())),
                *_state(trace, copy, live, cycles.times[number]),
                _fresh_until(trace, copy, live, cycles.times[number], until),
                internal.sum(),
                external.sum(),
                np.minimum(internal + external, CAP).sum(),
                fresh_links,
            )
        )
    columns = np.array(rows[cycles.warm_up :], dtype=np.float64).reshape(-1, 12).T
    names = ["fetched", "changed", "weighted", "ndcg", "fresh", "age", "harmonic", "fresh_time"]
    names += ["new_internal", "new_external", "new_capped", "never_seen"]
    return Daily(**dict(zip(names, columns, strict=True)))


def summary(run: Daily) -> dict[str, float]:
    """The numbers that reports show."""
    fetched = max(run.fetched.sum(), 1.0)
    a_fetch = {
        "change_ratio": run.changed,
        "weighted_change_ratio": run.weighted,
        "new_links_per_fetch": run.new_internal + run.new_external,
        "new_internal_per_fetch": run.new_internal,
        "new_external_per_fetch": run.new_external,
        "new_links_capped_per_fetch": run.new_capped,
        "never_seen_per_fetch": run.never_seen,
    }
    a_cycle = {
        "freshness": run.fresh,
        "freshness_time": run.fresh_time,
        "age_days": run.age,
        "harmonic": run.harmonic,
        "ndcg": run.ndcg,
    }
    return {name: float(column.sum() / fetched) for name, column in a_fetch.items()} | {
        name: float(column.mean()) if column.size else 0.0 for name, column in a_cycle.items()
    }


def starved(cycles: Cycles, pages: int) -> float:
    """The share of the pages not visited in the second half of the cycles."""
    late = cycles.page[cycles.cycle > (cycles.warm_up + len(cycles.times)) // 2]
    return 1 - len(np.unique(late)) / max(pages, 1)


def ndcg(hits: BoolArray, possible: int) -> float:
    """How early in the plan the changed pages come (Santos et al. 2015, natural logarithms)."""
    gain = np.ones(max(len(hits), 1))
    gain[1:] = 1 / np.log(np.arange(2, len(gain) + 1) + 1)
    best = gain[: min(len(hits), possible)].sum()
    return float(gain[: len(hits)][hits].sum() / best) if best > 0 else 1.0


def _differ(content: NDArray[np.uint64], copy: IntArray, live: IntArray) -> BoolArray:
    differ: BoolArray = (copy != live) & (content[copy] != content[live])
    return differ


def _state(trace: Trace, copy: IntArray, live: IntArray, now: float) -> tuple[float, float, float]:
    """Freshness, age and harmonic staleness of the copies."""
    stale = _differ(trace.content, copy, live)
    missed = np.where(copy != live, live - copy, 0)
    age = (now - trace.valid_from[np.minimum(copy + 1, len(trace.content) - 1)]) / DAY
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, missed.max(initial=0) + 1))])
    return 1 - float(stale.mean()), float((age * stale).mean()), float(harmonic[missed].mean())


def _fresh_until(trace: Trace, copy: IntArray, live: IntArray, now: float, until: float) -> float:
    if until <= now:
        return 1 - float(_differ(trace.content, copy, live).mean())
    args = (trace.start, trace.valid_from, trace.content, copy, live, now, until)
    return float(_fresh_share(*args))


@njit(cache=True)
def _fresh_share(start, valid_from, content, copy, live, now, until):  # type: ignore[no-untyped-def]
    total = 0.0
    for page in range(len(copy)):
        version, begin = live[page], now
        while begin < until:
            more = version + 1 < start[page + 1] and valid_from[version + 1] < until
            end = valid_from[version + 1] if more else until
            if content[version] == content[copy[page]]:
                total += end - begin
            begin, version = end, version + 1
    return total / ((until - now) * len(copy))
