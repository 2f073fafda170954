"""Radinsky & Bennett: time to find related pages and to learn from them."""

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

    from recrawl.model import Neighbours

PAGES, DAYS, K = 5_000, 50, 20
TRACES = Path(__file__).parent.parent.parent / "shared" / "traces"
REAL = ("ota_contrib", "trackawesomelist")
SAMPLE = 700  #: pages compared with each other
SEARCHES: dict[str, Callable[..., Neighbours]] = {
    "cross-correlation": most_correlated,
    "DTW (band 5)": nearest_by_dtw,
}


def search_seconds(folder: str, search: str) -> float:
    """Seconds to find the neighbours of all pages, without counting words."""
    trace = read_trace(folder)
    words = word_series(snapshots_of(trace, versions_by_day(trace, DAYS)))
    few = trace.take(np.arange(len(trace)) < 50)
    SEARCHES[search](word_series(snapshots_of(few, versions_by_day(few, 20))), K)  # compiles
    begin = perf_counter()
    SEARCHES[search](words, K)
    return perf_counter() - begin


def recalls(folder: str) -> dict[str, float]:
    """By search: share of the K nearest pages that are found among the candidates."""
    trace = read_trace(folder)
    sample = np.random.default_rng(0).permutation(np.flatnonzero(trace.alive()))[:SAMPLE]
    trace = trace.take(np.isin(np.arange(len(trace)), sample))
    words = word_series(snapshots_of(trace, versions_by_day(trace, DAYS)))
    return {name: recall(by(words, K), by(words, K, exact=True)) for name, by in SEARCHES.items()}


def recall(fast: Neighbours, exact: Neighbours) -> float:
    """Share found; any page as near as the last exact neighbour counts, since some are equal."""
    n_exact = (exact.row >= 0).sum(axis=1)
    least = np.where(exact.row >= 0, exact.weight, np.inf).min(axis=1, keepdims=True)
    n_found = ((fast.row >= 0) & (fast.weight >= least * (1 - 1e-6))).sum(axis=1)
    some = n_exact > 0
    return float(np.minimum(n_found[some] / n_exact[some], 1.0).mean())


def learners(folder: str) -> tuple[float, float, float, float]:
    """Seconds per page and accuracy: of an SVM per page, expert and day; of one boosting for all."""
    data = prepare(read_trace(folder), PredictionProtocol(alpha=0.1, detector="digest"))
    few = range(min(20, len(data.target)))
    truth = data.truth[: len(few)] > 0
    TargetExperts(data, 0).vote(MAIN, 2, data.setup)  # compiles
    begin = perf_counter()
    by_svms = np.array([TargetExperts(data, page).vote(MAIN, K, data.setup) for page in few])
    svm_seconds = (perf_counter() - begin) / len(few)
    begin = perf_counter()
    by_boosting = pooled_boosting(data, data.related[MAIN])[: len(few)]
    boosting_seconds = (perf_counter() - begin) / len(data.target)
    accuracy = [float(((p > 0) == truth).mean()) for p in (by_svms, by_boosting)]
    return svm_seconds, accuracy[0], boosting_seconds, accuracy[1]


def replay_seconds(folder: str, policy: str) -> float:
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
            took, memory = apart(search_seconds, str(folder), search)
            what = f"{K} nearest of {PAGES:,} pages × {DAYS} days by {search}"
            yield Figure(what, f"{took:.1f} s, {memory:.2f} GiB", goal)
        for trace in (TRACES / name for name in REAL if (TRACES / name).is_dir()):
            for search, share in apart(recalls, str(trace))[0].items():
                what = f"of the {K} nearest by {search} found, {SAMPLE} pages of {trace.name}"
                yield Figure(what, f"{share:.4f}", ">= 0.95")
        for trace in (TRACES / name for name in REAL[:1] if (TRACES / name).is_dir()):
            for policy in ("content", "experts", "coin:by=content", "coin:by=experts"):
                took = apart(replay_seconds, str(trace), policy)[0]
                yield Figure(
                    f"replay `{policy}` on {trace.name}, 10 % a day", f"{took:.1f} s", "< 180 s"
                )
        world = make("world", "leaders:mean=0.16,shape=20,again=0.8,followers=15")
        folder = write(world.make(pages=64, days=112, seed=3), Path(name) / "small")
        svm_seconds, svm_accuracy, seconds, accuracy = apart(learners, str(folder))[0]
        what = f"train {K + 1} SVMs per page for 60 days: seconds per page, accuracy"
        yield Figure(what, f"{svm_seconds:.2f} s, {svm_accuracy:.1%}")
        what = "train one boosting for all pages, six times: seconds per page, accuracy"
        yield Figure(what, f"{seconds:.3f} s, {accuracy:.1%}")
