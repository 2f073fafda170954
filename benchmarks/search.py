"""Search: indexing with and without measuring gains, how near they are, large workloads."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy.stats import spearmanr

from benchmarks.harness import Figure, apart
from recrawl.history import Store
from recrawl.search.answers import answer_queries
from recrawl.search.gain import estimate_gains
from recrawl.search.index import SearchIndex
from recrawl.search.matches import find_matches
from recrawl.search.quality import exact_gains
from recrawl.search.queries import read_workload
from recrawl.search.query_scores import QueryLists
from recrawl.search.scoring import CorpusStatistics, scoring
from recrawl.search.terms import count_terms
from recrawl.search.views import view_probabilities
from recrawl.search.workload import Workload, build_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.model import FloatArray

PAGES, WORDS = 2_000, 700
TURNS, TURN = 4, 2  #: one of these fits the curves again
QUERIES, MANY = 5_000, 1_000_000
DAY = 86_400_000_000
_draw = random.Random(0)
LEXICON = ["".join(_draw.choices("etaoinshrdlucmf", k=_draw.randint(2, 10))) for _ in range(20_000)]
ZIPF = (1.0 / np.arange(1.0, len(LEXICON) + 1)).cumsum().tolist()


def texts(rng: random.Random, old: list[str] | None = None) -> list[str]:
    """Texts of pages with word frequencies as in language; or these texts after a change.

    As on sites that were watched for months: a run of words changes, mostly a short one, so that
    the length changes by 1 % at the median and by more than 6 % in one case of five.
    """
    if old is None:
        sizes = [max(int(rng.lognormvariate(np.log(WORDS), 0.8)), 20) for _ in range(PAGES)]
        return [" ".join(rng.choices(LEXICON, cum_weights=ZIPF, k=size)) for size in sizes]
    changed = []
    for text in old:
        held = text.split()
        many = 1 + int(len(held) * min(rng.lognormvariate(np.log(0.03), 1.6), 0.9))
        begin = rng.randrange(len(held))
        held[begin : begin + many] = rng.choices(
            LEXICON, cum_weights=ZIPF, k=rng.randint(1, 2 * many)
        )
        changed.append(" ".join(held) or "word")
    return changed


def asked(rng: random.Random) -> Workload:
    """Queries of one to three words, and how often each is asked."""
    text = [
        " ".join(rng.choices(LEXICON, cum_weights=ZIPF, k=rng.choice((1, 1, 2, 2, 3))))
        for _ in range(2 * QUERIES)
    ]
    rate = np.array([rng.paretovariate(1.2) for _ in text])
    workload = build_workload(text, rate)
    return workload.take(np.arange(min(QUERIES, len(workload))))


def visits(bodies: list[str], number: int) -> pa.Table:
    at = pa.array([1_700_000_000_000_000 + number * DAY] * len(bodies))
    return pa.table(
        {
            "url": [f"https://a.example/{i}" for i in range(len(bodies))],
            "at": at.cast(pa.timestamp("us", tz="UTC")),
            "digest": pa.array([hash(text) & (2**63 - 1) for text in bodies], pa.uint64()),
            "digest_of": ["text"] * len(bodies),
            "text": bodies,
        }
    )


def indexing() -> tuple[FloatArray, float]:
    """The fewest seconds of a turn in which every page changes twice; megabytes of a turn.

    By row: elapsed; of the processor, which counts what runs beside; of it, with the appending to
    the store; of it, in the thread that measures, while another writes the index. By column:
    without and with measuring. Two stores with the same visits take turns. As each plan does, each
    update opens the index, and reads what was measured before.
    """
    rng = random.Random(1)
    queries, bodies = asked(rng), texts(rng)
    size, took = 0, np.zeros((TURNS, TURN, 4, 2))
    with tempfile.TemporaryDirectory() as folder:
        stores = [Store.open(Path(folder) / name, create=True) for name in ("without", "with")]
        for number in range(-TURN, TURNS * TURN):  # the first rounds compile, and make the curves
            bodies = texts(rng, bodies) if number > -TURN else bodies
            size += sum(map(len, bodies)) * (number >= 0)
            for i in (0, 1) if number % 2 else (1, 0):
                first = process_time()
                stores[i].append(visits(bodies, number + TURN))
                begin, elapsed, own = process_time(), perf_counter(), thread_time()
                index = SearchIndex(stores[i])
                index.update(index.impact(queries) if i else None)
                elapsed, own, end = perf_counter() - elapsed, thread_time() - own, process_time()
                if number >= 0:
                    took[divmod(number, TURN)][:, i] = elapsed, end - begin, end - first, own
    return took.sum(axis=1).min(axis=0), size / 1e6 / TURNS


def accuracy() -> tuple[float, FloatArray]:
    """Rank correlation of estimated gains with exact ones; quantiles of the relative error."""
    rng = random.Random(2)
    queries, old = asked(rng), texts(rng)
    size = len(queries.vocabulary)
    counts = count_terms(old + texts(rng, old), queries.vocabulary)
    before, after = np.arange(PAGES), np.arange(PAGES, 2 * PAGES)
    among = CorpusStatistics.of(counts.take(before), size)
    score = scoring("tfidf")(counts, among)
    page = np.concatenate([before, before])
    matches = find_matches(counts, score, queries, page)
    p_view = view_probabilities(matches.longest() + 1)
    exact = np.empty(PAGES)
    for begin in range(0, PAGES, 100):  # a few pages change at a time, as in a crawl
        rows = slice(begin, begin + 100)
        live = before.copy()
        live[rows] = after[rows]
        exact[rows] = exact_gains(matches, before, live, p_view)[rows]
    old_, new = ((counts.take(rows), score[counts.entries(rows)]) for rows in (before, after))
    lists = QueryLists.of(queries.terms, among.holding)
    known, *_ = answer_queries(*old_, lists, p_view, queries.frequency)
    gain, *_ = estimate_gains(old_, new, lists, queries.frequency, known)
    wrong = np.abs(gain - exact) / np.maximum(exact, 1e-300)
    correlation = float(spearmanr(gain, exact).statistic)
    return correlation, np.quantile(wrong[exact > 0], [0.1, 0.25, 0.5, 0.75, 0.9])


def large_workload() -> tuple[int, float]:
    """Read a file of a million distinct queries: their number, and the seconds it took."""
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "queries.tsv"
        with file.open("w") as out:
            for i in range(MANY):
                words = " ".join(rng.choices(LEXICON, k=rng.choice((1, 2, 3))))
                out.write(f"{words} q{i}\t{rng.randint(1, 99)}\n")
        begin = process_time()
        n_queries = len(read_workload(file))
        return n_queries, process_time() - begin


def figures() -> Iterator[Figure]:
    (took, size), _ = apart(indexing)
    more = took[:, 1] / took[:, 0] - 1.0
    what = (
        f"index {PAGES:,} changed pages, without and with measuring gains for {QUERIES:,} queries"
    )
    speed = " and ".join(f"{size / seconds:.1f} MB/s" for seconds in took[0])
    yield Figure(what, f"{speed}: {more[0]:+.1%} time", "<= 7 % more")
    what = "the same in processor time, and with the appending of their visits to the store"
    yield Figure(what, f"{more[1]:+.1%}, {more[2]:+.1%}")
    what = "of that, in the thread that measures, and in the one that writes the index beside it"
    yield Figure(what, f"{took[3, 1]:.2f} s, {took[1, 1] - took[3, 1]:.2f} s")
    (correlation, errors), _ = apart(accuracy)
    what = f"estimated gains of {PAGES:,} refreshes against exact ones: rank correlation"
    yield Figure(what, f"{correlation:.3f}", ">= 0.9")
    what = "relative error of estimated gains: quantiles 10, 25, 50, 75, 90 %"
    yield Figure(what, ", ".join(f"{error:.2f}" for error in errors))
    (many, took), memory = apart(large_workload)
    what = f"read a workload of {many:,} distinct queries"
    yield Figure(what, f"{took:.1f} s, {memory:.2f} GiB", "< 60 s, < 2 GiB")
