"""Sample pages for the checks: small, seeded, with every edge case."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from recrawl.model import DAY, Intervals, Outlinks, Pages, PageSignals, owners, starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Time

NOW: Time = 1_700_000_000.0
LATER_VISITS = 3  #: to each visited page after `NOW`, in a sample with a future
KEY_FACTOR = np.uint64(0x9E3779B97F4A7C15)

#: Edge cases, one per row: compared visits (−2: never visited, −1: never succeeded), probability
#: of a change, exposure in days, and days since the last visit or since first seen. NaN: random.
EDGE_CASES = np.array(
    [
        [-2, 0.0, 0.0, 5.0],
        [-1, 0.0, 0.0, 5.0],
        [0, 0.0, 0.0, 2.0],  # one visit
        [1, 1.0, 1.0, 1.0],
        [10, 1.0, np.nan, np.nan],  # always changed
        [10, 0.0, np.nan, np.nan],  # never changed
        [70, 0.3, np.nan, np.nan],  # more than `recent` holds
        [70, 1.0, np.nan, np.nan],
        [5, 0.5, 1e-6, 1.0],
        [5, 1.0, 1e-6, 0.0],
        [5, 0.5, 1e5, 1.0],
        [5, 0.5, np.nan, 1e5],  # seen long ago
    ]
)


@dataclass(frozen=True)
class SampleSource:
    """Intervals and URLs from memory; page `i` is row `i`."""

    past: Intervals

    def urls(self, page_id: IntArray) -> Sequence[str]:
        return [f"https://example.org/{page}" for page in page_id.tolist()]

    def intervals(self, page_id: IntArray, *, never_seen: bool = False) -> Intervals:  # noqa: ARG002
        first, counts = self.past.start[page_id], np.diff(self.past.start)[page_id]
        start = starts(counts)
        at = np.arange(start[-1]) + np.repeat(first - start[:-1], counts)
        return replace(_pick(self.past, at), start=start)

    def texts(self, page_id: IntArray, characters: int | None = None) -> pa.Array:  # noqa: ARG002
        return pa.nulls(len(page_id), pa.large_string())

    def outlinks(self, page_id: IntArray) -> Outlinks:
        return Outlinks(np.zeros(len(page_id) + 1, np.int64), np.empty(0, np.uint64))

    def n_links(self, page_id: IntArray) -> IntArray:
        return np.zeros(len(page_id), np.int64)

    def first_modified(self, page_id: IntArray) -> FloatArray:
        return np.full(len(page_id), np.nan)


@dataclass(frozen=True)
class SampleHistory:
    """A history that consists of its pages only."""

    loaded: Pages

    def pages(self) -> Pages:
        return self.loaded

    def signals(self) -> None: ...
    def models(self) -> None: ...
    def database(self) -> None: ...


def build_pages(past: Intervals, first_visit: FloatArray, *, until: Time = np.inf) -> Pages:
    """The columns that follow from intervals and first visits up to the time `until`."""
    size = len(first_visit)
    page_id, unknown = np.arange(size), np.full(size, np.nan)
    return Pages(
        page_id=page_id,
        key=page_id.astype(np.uint64) * KEY_FACTOR,
        host=page_id % 7,
        site=page_id % 3,
        first_seen=np.where(np.isnan(first_visit), 0.0, first_visit),
        first_visit=first_visit,
        **_known(past, first_visit, until),
        flips=np.zeros(size, dtype=np.int64),
        failures=np.zeros(size, dtype=np.int64),
        failure=np.zeros(size, dtype=np.int64),
        retries=np.zeros(size, dtype=np.int64),
        returns=np.zeros(size, dtype=np.int64),
        bytes=unknown,
        seconds=unknown.copy(),
        source=SampleSource(past),
    )


def _known(past: Intervals, first_visit: FloatArray, until: Time) -> dict[str, Any]:
    size, row, seen = len(first_visit), past.page, past.at <= until
    changed = seen & past.changed
    n = np.bincount(row[seen], minlength=size)
    last_visit, last_change = first_visit.copy(), np.full(size, np.nan)
    last_visit[row[seen]] = past.at[seen]  # oldest first, so the newest stays
    last_change[row[changed]] = past.at[changed]
    return {
        "last_visit": last_visit,
        "last_attempt": last_visit.copy(),
        "last_change": last_change,
        "n_visits": n + ~np.isnan(first_visit),
        "n_compared": n,
        "n_changes": np.bincount(row[changed], minlength=size),
        "exposure": past.sums(np.where(seen, past.days, 0.0)),
        "recent": _recent(past.start[row] + n[row] - 1 - np.arange(len(row)), row, changed, size),
    }


def _recent(back: IntArray, row: IntArray, changed: BoolArray, size: int) -> KeyArray:
    kept = changed & (back < 64)
    recent = np.zeros(size, dtype=np.uint64)
    np.bitwise_or.at(recent, row[kept], np.uint64(1) << back[kept].astype(np.uint64))
    return recent


def sample_pages(seed: int = 0, n: int = 200, *, future: int | None = None) -> Pages:
    """Pages as known at `NOW`; `future` seeds later visits, which the columns leave out."""
    rng = np.random.default_rng(seed)
    compared, p_change, exposure, idle = _kinds(rng, n).T
    first_visit = np.where(compared < 0, np.nan, NOW - (idle + exposure) * DAY)
    past = _draw(rng, compared.astype(np.int64), p_change, exposure, first_visit)
    pages = build_pages(_with_future(past, future), first_visit, until=NOW)
    failed = compared == -1
    return replace(
        pages,
        first_seen=NOW - (idle + exposure) * DAY,
        last_attempt=np.where(failed, NOW - DAY, pages.last_attempt),
        n_visits=pages.n_visits + 2 * failed,
        failures=np.where(failed, 2, 0),
        bytes=np.where(rng.random(n) < 0.5, np.nan, rng.lognormal(9.0, 2.0, n)),
    )


def sample_signals(pages: Pages) -> Pages:
    """The pages with signals of two kinds: worthless to near perfect, silent and not."""
    n = len(pages)
    rng = np.random.default_rng(2)
    recall = rng.choice([0.0, 1e-6, 0.5, 1 - 1e-6], (n, 2))
    noise = rng.choice([1e-6, 0.05, 1.0], (n, 2))
    claims = np.where(recall > 0, rng.choice([0.0, 1.0, 20.0], (n, 2)), 0.0)
    said = np.where(recall > 0, NOW - DAY, np.nan)
    rate = rng.choice([1e-9, 0.1, 10.0], n)
    return replace(
        pages, signals=PageSignals(("feed", "sitemap"), said, claims, recall, noise, rate)
    )


def _kinds(rng: np.random.Generator, n: int) -> FloatArray:
    """One row per page, every second one an edge case; the columns of `EDGE_CASES`, no NaN."""
    ordinary = np.full((n, 4), np.nan)
    ordinary[:, 0] = rng.integers(0, 40, n)
    ordinary[:, 1] = rng.beta(0.5, 1.5, n)
    page = np.arange(n)
    kinds = np.where(page[:, None] % 2 == 0, EDGE_CASES[page // 2 % len(EDGE_CASES)], ordinary)
    drawn = np.column_stack(
        [kinds[:, :2], kinds[:, 0] * rng.gamma(2.0, 1.0, n), rng.gamma(1, 3, n)]
    )
    return np.where(np.isnan(kinds), drawn, kinds)


def _draw(
    rng: np.random.Generator,
    compared: IntArray,
    p_change: FloatArray,
    exposure: FloatArray,
    first_visit: FloatArray,
) -> Intervals:
    start = starts(np.where(compared < 0, 0, compared + LATER_VISITS))
    row = owners(start)
    place = np.arange(len(row)) - start[row]
    later = place >= compared[row]
    days = np.where(later, 0.0, rng.exponential(size=len(row)))
    drawn = np.bincount(row, days, minlength=len(compared))
    days = np.where(later, 1.0, days * exposure[row] / np.maximum(drawn, 1e-300)[row])
    since = np.cumsum(days) - np.concatenate([[0.0], np.cumsum(days)])[start[row]]
    after = NOW + (place - compared[row] + 1) * DAY
    at = np.where(later, after, np.minimum(first_visit[row] + since * DAY, NOW))
    modified = at - rng.uniform(0.0, 1.5, len(row)) * days * DAY
    modified[rng.random(len(row)) < 0.5] = np.nan
    changed = rng.random(len(row)) < p_change[row]
    return Intervals(start, days, changed, at, modified, *_links(rng, changed))


def _links(rng: np.random.Generator, changed: BoolArray) -> FloatArray:
    """New internal, new external and all links; NaN for a third of the visits."""
    new = rng.geometric(0.2, (2, len(changed))) * (changed & (rng.random((2, len(changed))) < 0.5))
    counts = np.vstack([new, new.sum(axis=0) + rng.integers(0, 9, len(changed))]).astype(np.float64)
    counts[:, rng.random(len(changed)) < 1 / 3] = np.nan
    return counts


def _with_future(past: Intervals, future: int | None) -> Intervals:
    later = past.at > NOW
    if future is None:
        return past.where(~later)
    other = np.random.default_rng(future).random(len(later)) < 0.5
    seen = {name: np.where(later & other, np.nan, c) for name, c in past.columns().items()}
    seen |= {"days": past.days, "at": past.at, "changed": np.where(later, other, past.changed)}
    return replace(past, **seen)


def _pick(past: Intervals, at: IntArray) -> Intervals:
    return replace(past, **{name: column[at] for name, column in past.columns().items()})


def shuffled(pages: Pages) -> tuple[IntArray, Pages]:
    """A random order, and the pages in this order."""
    order = np.random.default_rng(1).permutation(len(pages))
    return order, pages.take(order)


def is_altered(pages: Pages, original: Pages) -> bool:
    """Whether any column differs."""
    before, after = original.columns(), pages.columns()
    return not all(np.array_equal(before[name], after[name], equal_nan=True) for name in before)
