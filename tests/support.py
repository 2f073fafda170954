"""What other processes run in tests; importable there, unlike the tests."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from recrawl.history import Store

BATCH = 300


def batch(number: int) -> pa.Table:
    at = np.full(BATCH, number * 1_000_000 + 1_700_000_000_000_000)
    return pa.table(
        {
            "url": [f"https://h{i % 7}.example/{i}" for i in range(BATCH)],
            "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
            "digest": pa.array(np.arange(BATCH) // (number % 5 + 1), pa.uint64()),
            "digest_of": ["text"] * BATCH,
            "text": [f"page {i} version {number}" for i in range(BATCH)],
            "links": [[f"https://h{i % 7}.example/{i + number}"] for i in range(BATCH)],
        }
    )


def write(path: str, first: int, pipe) -> None:
    with Store.open(path) as store:
        for number in range(first, first + 10_000):
            store.append(batch(number))
            pipe.send_bytes(number.to_bytes(4))


def hold(path: str, ready, done) -> None:
    """Hold the right to write until told otherwise."""
    with Store.open(path) as store:
        store.append(batch(0))
        ready.set()
        done.wait(60)
