"""The store: append and load."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.harness import Figure, apart, seconds
from recrawl.history import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES, ROUNDS = 1_000_000, 4
PER_ROUND = 5


def batch(number: int) -> pa.Table:
    """Five days of visits to every page."""
    random = np.random.default_rng(number)
    page = np.tile(np.arange(PAGES, dtype=np.int32), PER_ROUND)
    day = np.repeat(np.arange(PER_ROUND) + number * PER_ROUND, PAGES)
    at = (1_700_000_000 + day * 86_400 + random.integers(0, 3600, len(page))) * 1_000_000
    urls = pa.array([f"https://host{i % 20_000}.example/dir/page-{i}.html" for i in range(PAGES)])
    return pa.table(
        {
            "url": pa.DictionaryArray.from_arrays(page, urls).cast(pa.string()),
            "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
            "status": np.full(len(page), 200, np.int16),
            "digest": pa.array(random.integers(0, 3, len(page)), pa.uint64()),
            "digest_of": pa.DictionaryArray.from_arrays(
                np.zeros(len(page), np.int8), pa.array(["text"])
            ).cast(pa.string()),
        }
    )


def append(path: str, number: int) -> float:
    table = batch(number)
    with Store.open(path, create=True) as store:
        begin = perf_counter()
        store.append(table)
        return perf_counter() - begin


def load(path: str) -> float:
    store = Store.open(path)
    return seconds(store.pages, rounds=1)


def intervals(path: str) -> float:
    pages = Store.open(path).pages()
    return seconds(pages.intervals, rounds=1)


def small(path: str) -> float:
    """A live crawl's batch: a thousand visits into the full store."""
    table = batch(ROUNDS).slice(0, 1000)
    with Store.open(path) as store:
        begin = perf_counter()
        store.append(table)
        return perf_counter() - begin


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "store")
        took = []
        for number in range(ROUNDS):
            once, memory = apart(append, path, number)
            took.append(once)
        yield Figure(
            "append 5,000,000 visits to 1,000,000 pages, new / known",
            f"{took[0]:.1f} s / {max(took[1:]):.1f} s, {memory:.1f} GiB",
            "< 30 s",
        )
        once, _ = apart(small, path)
        yield Figure("append 1,000 visits to the same store", f"{once:.2f} s")
        once, memory = apart(load, path)
        yield Figure(
            "load the columns of 1,000,000 pages with 20 visits each",
            f"{once:.2f} s, {memory:.2f} GiB",
            "< 5 s, < 2 GiB",
        )
        once, memory = apart(intervals, path)
        yield Figure("load their 19,000,000 intervals", f"{once:.1f} s, {memory:.1f} GiB")
        size = sum(f.stat().st_size for f in Path(path).iterdir())
        yield Figure("size of the store on disk", f"{size / 20e6:.1f} bytes a visit")
