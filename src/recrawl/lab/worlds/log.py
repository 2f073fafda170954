"""The crawl log of a small world: what the demo and the documentation read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.model import Time

SITES = ("news.example", "docs.example", "shop.example", "blog.example", "wiki.example")


def poisson_log(*, pages: int, days: int, start: Time, seed: int) -> pa.Table:
    """The crawl log of a web of independent Poisson pages, fetched every few days."""
    random = np.random.default_rng(seed)
    # Rates differ by site far more than within it; most pages hardly ever change.
    site = random.integers(len(SITES), size=pages)
    rate = random.gamma(0.5, 2.0, size=pages) * np.array([0.5, 0.02, 0.1, 0.05, 0.01])[site]
    gaps = random.uniform(1.0, 6.0, size=(pages, days))
    at = random.uniform(0.0, 2.0, size=(pages, 1)) + np.cumsum(gaps, axis=1)
    version = np.cumsum(random.poisson(rate[:, None] * gaps), axis=1)
    page, visit = np.nonzero(at < days)
    failed = random.random(len(page)) < 0.01
    times = start + at[page, visit] * DAY
    return pa.table(
        {
            "url": [f"https://{SITES[site[p]]}/{p % 17:02}/page-{p}" for p in page],
            "at": times.astype(np.int64),
            "status": np.where(failed, 503, 200),
            "digest": [
                None if f else str(v) for f, v in zip(failed, version[page, visit], strict=True)
            ],
        }
    )
