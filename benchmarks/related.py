"""Related pages: as many as Dang et al. (2021) have, and the links between ten million."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Figure, apart, seconds
from recrawl.neighbours.graph import pagerank, trustrank
from recrawl.neighbours.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

PAGES, WIDE, NEAR = 384_323, 192, 30
LINKS, LINKED = 10_000_000, 1_000_000
ASKED = 1_000  #: pages whose recall is measured


def vectors(n: int) -> NDArray[np.float32]:
    """Pages about one of a thousand topics each, more or less, as texts are: unit vectors."""
    random = np.random.default_rng(0)
    topics = random.standard_normal((1_000, WIDE), np.float32)
    rows = topics[random.integers(0, 1_000, n)]
    rows += random.standard_normal(rows.shape, np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def compared(n: int) -> float:
    rows = vectors(n)
    return seconds(lambda: nearest(rows, NEAR), rounds=1)


def recalled(n: int) -> tuple[float, float]:
    """Seconds of an index of cells for all pages, and which share of the nearest it finds."""
    rows = vectors(n)
    asked = np.arange(ASKED)
    took = seconds(lambda: nearest(rows, NEAR, exact=0), rounds=1)
    cells, exact = (nearest(rows, NEAR, rows=asked, exact=e).row for e in (0, n))
    pairs = zip(cells, exact, strict=True)
    return took, float(np.mean([len(np.intersect1d(a, b)) / NEAR for a, b in pairs]))


def ranked() -> tuple[float, float]:
    random = np.random.default_rng(0)
    source = random.integers(0, LINKED, LINKS)
    target = (random.random(LINKS) ** 3 * LINKED).astype(np.int64)
    trusted = np.arange(100)
    return (
        seconds(lambda: pagerank(source, target, LINKED), rounds=1),
        seconds(lambda: trustrank(source, target, LINKED, trusted), rounds=1),
    )


def figures() -> Iterator[Figure]:
    took, memory = apart(compared, PAGES)
    what = f"the {NEAR} nearest of {PAGES:,} pages, {WIDE} wide, every pair compared"
    yield Figure(what, f"{took:.0f} s, {memory:.2f} GiB", "< 540 s, < 3 GiB")
    (took, found), memory = apart(recalled, PAGES)
    what = f"the same by cells, as above a million pages; {found:.1%} of the nearest found"
    yield Figure(what, f"{took:.0f} s, {memory:.2f} GiB")
    (page, trust), memory = apart(ranked)
    what = f"PageRank and TrustRank, {LINKS:,} links of {LINKED:,} pages"
    yield Figure(what, f"{page:.1f} s, {trust:.1f} s, {memory:.2f} GiB", "< 30 s")
