"""The planner: ten million pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Figure, apart, seconds
from recrawl.model import DAY, Budget, Intervals, Pages
from recrawl.planner import plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from recrawl.model import FloatArray, IntArray, Outlinks

NOW = 1_800_000_000.0
PAGES, HOSTS = 10_000_000, 100_000


class Columns:
    """A history that has its columns loaded."""

    def __init__(self, n: int) -> None:
        random = np.random.default_rng(0)
        last = NOW - random.random(n) * 30 * DAY
        count = random.integers(1, 40, n).astype(np.int32)
        self._pages = Pages(
            page_id=np.arange(n, dtype=np.int32),
            key=random.integers(0, 2**64, n, dtype=np.uint64),
            # a few hosts hold most pages, as on the web
            host=(random.random(n) ** 3 * HOSTS).astype(np.int32),
            site=np.zeros(n, np.int32),
            first_seen=last,
            first_visit=last,
            last_visit=last,
            last_attempt=last,
            last_change=last,
            n_visits=count,
            n_compared=count,
            n_changes=random.integers(0, count + 1).astype(np.int32),
            exposure=np.multiply(count, 3.0, dtype=np.float64),
            recent=np.zeros(n, np.uint64),
            failures=np.zeros(n, np.int32),
            flips=np.zeros(n, np.int32),
            failure=np.zeros(n, np.uint8),
            retries=np.zeros(n, np.int32),
            returns=np.zeros(n, np.int32),
            bytes=np.full(n, np.nan),
            seconds=np.full(n, np.nan),
            source=self,
        )

    def signals(self) -> None: ...
    def models(self) -> None: ...
    def database(self) -> None: ...

    def pages(self) -> Pages:
        return self._pages

    def urls(self, page_id: IntArray) -> Sequence[str]:
        return [str(i) for i in page_id]

    def intervals(self, page_id: IntArray, *, never_seen: bool = False) -> Intervals:
        raise NotImplementedError

    def texts(self, page_id: IntArray, characters: int | None = None) -> pa.Array:
        raise NotImplementedError

    def outlinks(self, page_id: IntArray) -> Outlinks:
        raise NotImplementedError

    def n_links(self, page_id: IntArray) -> IntArray:
        raise NotImplementedError

    def first_modified(self, page_id: IntArray) -> FloatArray:
        raise NotImplementedError


def planned(host_cap: int | None) -> float:
    history, warm = Columns(PAGES), Columns(1000)
    budget = Budget(share=0.05, host_cap=host_cap)
    plan(warm, budget, now=NOW, policy="poisson")
    return seconds(lambda: plan(history, budget, now=NOW, policy="poisson"), rounds=3)


def figures() -> Iterator[Figure]:
    for cap in (None, 20, 5):
        took, memory = apart(planned, cap)
        caps = "no host cap" if cap is None else f"at most {cap} a host"
        yield Figure(
            f"5 % of 10,000,000 pages on 100,000 hosts by `poisson`, {caps}",
            f"{took:.2f} s, {memory:.2f} GiB",
            "< 3 s, < 3 GiB",
        )
