"""Related pages: finding them, and learning from them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Figure, apart
from recrawl.lab.replay import replay
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write
from recrawl.model import Budget
from recrawl.papers.radinsky.data import PredictionProtocol, prepare
from recrawl.papers.radinsky.experiment import MAIN, TargetExperts
from recrawl.papers.radinsky.pooled import pooled_boosting
from recrawl.papers.radinsky.relatedness.correlation import most_correlated
from recrawl.papers.radinsky.relatedness.warping import nearest_by_dtw
from recrawl.papers.radinsky.series.days import snapshots_of, versions_by_day
from recrawl.papers.radinsky.series.word_series import word_series
from recrawl.registry import make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recrawl.lab.trace import Trace
    from recrawl.model import Neighbours
    from recrawl.papers.radinsky.series.snapshots import Snapshots

PAGES, DAYS, K = 5_000, 50, 20
TRACES = Path(__file__).parent.parent.parent / "shared" / "traces"
REAL, SAMPLE = ("ota_contrib", "trackawesomelist"), 700  #: pages that are compared with each other
SEARCHES: dict[str, Callable[..., Neighbours]] = {
    "cross-correlation": most_correlated,
    "DTW (band 5)": nearest_by_dtw,
}


def related(folder: str, search: str) -> float:
    """Seconds to find the neighbours of all pages, words counted."""
    trace = read_trace(folder)
    told = word_series(snapshots_of(trace, versions_by_day(trace, DAYS)))
    SEARCHES[search](word_series(_few(trace)), K)  # compiles
    begin = perf_counter()
    SEARCHES[search](told, K)
    return perf_counter() - begin


def _few(trace: Trace) -> Snapshots:
    few = trace.take(np.arange(len(trace)) < 50)
    return snapshots_of(few, versions_by_day(few, 20))


def recalled(folder: str) -> dict[str, float]:
    """Of the K nearest by looking at all pages the share that looking at few finds."""
    trace = read_trace(folder)
    drawn = np.random.default_rng(0).permutation(np.flatnonzero(trace.alive()))[:SAMPLE]
    trace = trace.take(np.isin(np.arange(len(trace)), drawn))
    told = word_series(snapshots_of(trace, versions_by_day(trace, DAYS)))
    return {name: recall(by(told, K), by(told, K, exact=True)) for name, by in SEARCHES.items()}


def recall(fast: Neighbours, exact: Neighbours) -> float:
    """As near as the last of the exact ones is near enough: some are equally near."""
    many = (exact.row >= 0).sum(axis=1)
    least = np.where(exact.row >= 0, exact.weight, np.inf).min(axis=1, keepdims=True)
    found = ((fast.row >= 0) & (fast.weight >= least * (1 - 1e-6))).sum(axis=1)
    there = many > 0
    return float(np.minimum(found[there] / many[there], 1.0).mean())


def taught(folder: str) -> tuple[float, float, float, float]:
    """Seconds a page and share right: a machine a page, expert and day; one boosting over all."""
    data = prepare(read_trace(folder), PredictionProtocol(alpha=0.1, detector="digest"))
    pages, truth = data.pages, data.truth > 0
    few = range(min(20, len(pages)))
    TargetExperts(data, 0).vote(MAIN, 2, data.setup)  # compiles
    begin = perf_counter()
    said = np.array([TargetExperts(data, page).vote(MAIN, K, data.setup) for page in few])
    machines = (perf_counter() - begin) / len(few)
    begin = perf_counter()
    boosted = pooled_boosting(pages, data.related[MAIN], data.setup)
    boosting = (perf_counter() - begin) / len(pages)
    right = float(((said > 0) == truth[: len(few)]).mean())
    return machines, right, boosting, float(((boosted[: len(few)] > 0) == truth[: len(few)]).mean())


def crawled(folder: str, policy: str) -> float:
    """Seconds to replay a trace, a tenth of the pages a day."""
    trace = read_trace(folder)
    trace = trace.take(trace.alive())
    begin = perf_counter()
    replay(trace, policy, Budget(share=0.1))
    return perf_counter() - begin


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        world = make("world", "leaders:mean=0.3,shape=2")
        folder = write(world.make(pages=PAGES, days=DAYS + 1, seed=1), Path(name) / "large")
        goals = {"cross-correlation": "< 240 s, < 4 GiB", "DTW (band 5)": "< 480 s, < 4 GiB"}
        for search, goal in goals.items():
            took, memory = apart(related, str(folder), search)
            what = f"{K} nearest of {PAGES:,} pages × {DAYS} days by {search}"
            yield Figure(what, f"{took:.1f} s, {memory:.2f} GiB", goal)
        for trace in (TRACES / name for name in REAL if (TRACES / name).is_dir()):
            for search, share in apart(recalled, str(trace))[0].items():
                what = f"of the {K} nearest by {search} found, {SAMPLE} pages of {trace.name}"
                yield Figure(what, f"{share:.4f}", ">= 0.95")
        for trace in (TRACES / name for name in REAL[:1] if (TRACES / name).is_dir()):
            for policy in ("content", "experts", "coin:by=experts"):
                took = apart(crawled, str(trace), policy)[0]
                yield Figure(
                    f"replay `{policy}` on {trace.name}, 10 % a day", f"{took:.1f} s", "< 180 s"
                )
        world = make("world", "leaders:mean=0.16,shape=20,again=0.8,followers=15")
        folder = write(world.make(pages=64, days=112, seed=3), Path(name) / "small")
        machines, right, boosting, theirs = apart(taught, str(folder))[0]
        what = f"teach {K + 1} machines a page for 60 days: seconds a page, share right"
        yield Figure(what, f"{machines:.2f} s, {right:.1%}")
        what = "teach one boosting over all pages, six times: seconds a page, share right"
        yield Figure(what, f"{boosting:.3f} s, {theirs:.1%}")
