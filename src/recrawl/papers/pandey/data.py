"""What queries would have found in a trace, cycle by cycle: the data of the experiment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recrawl.errors import BadInput
from recrawl.lab.answers import trace_documents
from recrawl.lab.experiment import digest
from recrawl.lab.replay import cycle_times
from recrawl.page.fingerprints import shingle_distance, shingles, words
from recrawl.papers.pandey.estimate import paper_gains
from recrawl.search.curves import fit_curves
from recrawl.search.link_scores import LINK_SCORES, inlinks
from recrawl.search.matches import Matches, find_matches
from recrawl.search.quality import UsefulnessTracker, exact_gains
from recrawl.search.scoring import CorpusStatistics, scoring
from recrawl.search.terms import TermCounts, count_terms
from recrawl.search.views import view_exponent, view_probabilities
from recrawl.search.workload import STOP_WORDS, build_workload

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import BoolArray, FloatArray, IntArray
    from recrawl.search.workload import Workload

TITLE_TERMS = 4  #: words of a title that make a query


@dataclass(frozen=True)
class SearchStudy:
    """Copies of pages by cycle, and what queries find in them.

    Cycle 0 has the first copies. A page changes in a cycle if its copy differs from the one before.
    """

    trace: Trace
    rows: IntArray  #: of the pages in the trace
    live: IntArray  #: the document of each page (column) in each cycle (row)
    matches: Matches  #: of all queries
    p_view: FloatArray  #: view probability by rank
    cycle: IntArray  #: by change
    page: IntArray  #: by change
    distance: FloatArray  #: by change: share of the shingles not in both copies
    gain: FloatArray  #: by change: what its refresh alone adds to usefulness
    estimated_gain: FloatArray  #: the same, by the paper's estimate
    every: float  #: seconds from cycle to cycle
    workload: Workload  #: the queries that find any page
    by: str  #: how answers are ranked
    volume: float  #: their share of the workload
    key: str  #: digest of the data

    @property
    def pages(self) -> int:
        return int(self.live.shape[1])

    @property
    def urls(self) -> list[str]:
        return [self.trace.urls[row] for row in self.rows]

    @property
    def queries(self) -> int:
        return len(self.workload)

    @cached_property
    def best(self) -> FloatArray:
        """Usefulness of the live copies, by cycle."""
        tracker = self.tracker()
        return np.array([tracker.usefulness(row, row) for row in self.live])

    def tracker(self) -> UsefulnessTracker:
        """Measures the usefulness of copies, cycle after cycle, exactly."""
        return UsefulnessTracker(self.matches, self.pages, self.p_view)


def prepare_study(
    trace: Trace,
    workload: Workload,
    *,
    every: float,
    by: str = "tfidf",
    most: int | None = None,
    knee: bool = False,
    changed: bool = False,
) -> SearchStudy:
    """What a workload finds in a trace, using the `most` frequent queries that find any page.

    With `knee`, only queries that are relevant to the pages. With `changed`, only the pages whose
    text changes at least once, as in the paper's data set of several sites; links to them still
    count from all pages.
    """
    version = np.array([trace.live_at(at) for at in cycle_times(trace.window, every)])
    weight = LINK_SCORES[by](*_edges(trace, version[0]), len(trace)) if by in LINK_SCORES else None
    live, page, texts = trace_documents(trace, version)
    kept = (live != live[0]).any(axis=0) | (not changed)
    if changed:
        weight = None if weight is None else weight[kept]
        live, page, texts = _only_pages(kept, live, page, texts)
    workload, volume = _relevant_queries(workload, texts, live[0], most=most, knee=knee)
    counts = count_terms(texts, workload.vocabulary)
    corpus = CorpusStatistics.of(counts.take(live[0]), len(workload.vocabulary))
    score = scoring(by)(counts, corpus) if weight is None else weight[page[counts.texts()]]
    matches = find_matches(counts, score, workload, page, weight)
    p_view = view_probabilities(matches.longest() + 1, view_exponent(workload))
    moved = live[1:] != live[:-1]
    cycle, who = np.nonzero(moved)
    exact, estimated = [], []
    for i, some in enumerate(moved):
        rows = np.flatnonzero(some)
        exact.append(exact_gains(matches, live[i], live[i + 1], p_view)[rows])
        estimated.append(_estimated_gains(counts, score, workload, live[i], live[i + 1], rows))
    distance = _distances(texts, live[cycle, who], live[cycle + 1, who])
    gain, estimated_gain = np.concatenate(exact), np.concatenate(estimated)
    measured = (distance, gain, estimated_gain, every)
    return SearchStudy(
        trace=trace,
        rows=np.flatnonzero(kept),
        live=live,
        matches=matches,
        p_view=p_view,
        cycle=cycle + 1,
        page=who,
        distance=distance,
        gain=gain,
        estimated_gain=estimated_gain,
        every=every,
        workload=workload,
        by=by,
        volume=volume,
        key=digest(
            live, matches.start, matches.document, matches.score, matches.frequency, *measured
        ),
    )


def title_workload(trace: Trace) -> Workload:
    """A workload of the pages' titles; pages with more links to them are asked for more often."""
    version = trace.live_at(trace.window[0])
    order = np.argsort(-inlinks(*_edges(trace, version), len(trace)), kind="stable")
    share = np.empty(len(trace))
    share[order] = 1.0 / np.arange(1.0, len(trace) + 1.0)
    stop = set(STOP_WORDS.split())
    texts = trace.texts(np.arange(len(trace)), np.full(len(trace), trace.window[0])).to_pylist()
    heads = [words((text or "").partition("\n")[0]) for text in texts]
    short = [[word for word in head if word not in stop][:TITLE_TERMS] for head in heads]
    return build_workload([" ".join(head) for head in short], share)


def _only_pages(
    kept: BoolArray, live: IntArray, page: IntArray, texts: pa.Array
) -> tuple[IntArray, IntArray, pa.Array]:
    """The documents of some of the pages, numbered from 0, like the pages."""
    if not kept.any():
        raise BadInput("At least one page must change. None does; use all pages.")
    rows = kept[page]
    document, row = np.cumsum(rows) - 1, np.cumsum(kept) - 1
    return (
        document[live[:, kept]].astype(np.int32),
        row[page[rows]].astype(np.int32),
        texts.filter(pa.array(rows)),
    )


def _edges(trace: Trace, version: IntArray) -> tuple[IntArray, IntArray]:
    """Rows that link and rows they link to, for links between pages of the trace."""
    links = trace.links.take(version)
    target = links.page[links.target]
    source = np.repeat(np.arange(len(version)), np.diff(links.start))
    return source[target >= 0], target[target >= 0]


def _relevant_queries(
    workload: Workload, texts: pa.Array, first: IntArray, *, most: int | None, knee: bool
) -> tuple[Workload, float]:
    """The queries that find any document, and their share of the workload."""
    counts = count_terms(texts, workload.vocabulary)
    corpus = CorpusStatistics.of(counts.take(first), len(workload.vocabulary))
    score = scoring("tfidf")(counts, corpus)
    relevance = query_relevance(find_matches(counts, score, workload, np.arange(len(texts))))
    kept = np.flatnonzero(above_knee(relevance) if knee else relevance > 0)
    kept = kept[np.argsort(-workload.frequency[kept], kind="stable")][:most]
    if not len(kept):
        raise BadInput("At least one query must find a page of the trace. None does.")
    return workload.take(np.sort(kept)), float(workload.frequency[kept].sum())


def query_relevance(matches: Matches) -> FloatArray:
    """The sum of the scores of all documents that each query finds."""
    sums = np.concatenate([[0.0], np.cumsum(matches.score)])
    return np.asarray(sums[matches.start[1:]] - sums[matches.start[:-1]])


def above_knee(relevance: FloatArray) -> BoolArray:
    """The queries before the knee of relevance, which the paper chose by eye.

    The knee is where log relevance lies farthest above a straight line from the most relevant query
    to the least relevant one.
    """
    kept = relevance > 0
    if kept.sum() < 3:
        return kept
    order = np.argsort(-relevance, kind="stable")[: int(kept.sum())]
    x, y = np.arange(len(order)) / (len(order) - 1), np.log(relevance[order])
    if y[0] == y[-1]:
        return kept
    y = (y - y[-1]) / (y[0] - y[-1])
    knee = int(np.argmax(y - (1.0 - x)))
    kept[order[knee + 1 :]] = False
    return kept


def _estimated_gains(
    counts: TermCounts,
    score: FloatArray,
    workload: Workload,
    before: IntArray,
    after: IntArray,
    rows: IntArray,
) -> FloatArray:
    """The paper's estimate of the gains of these pages, with curves of the cycle before."""
    held = np.zeros(len(counts.length), np.bool_)
    held[before] = True
    mine = held[counts.texts()]
    curves = fit_curves(counts.term[mine], score[mine], len(workload.vocabulary))
    old, new = counts.entries(before[rows]), counts.entries(after[rows])
    return paper_gains(
        (counts.take(before[rows]), score[old]),
        (counts.take(after[rows]), score[new]),
        workload.term_frequency(),
        curves,
        view_exponent(workload),
    )


def _distances(texts: pa.Array, before: IntArray, after: IntArray) -> FloatArray:
    """The share of the shingles of each pair of documents that is not in both."""
    used, place = np.unique(np.stack([before, after]), return_inverse=True)
    sets = [shingles(text) for text in texts.take(pa.array(used)).to_pylist()]
    pairs = zip(*place.reshape(2, -1).tolist(), strict=True)
    return np.array([shingle_distance(sets[i], sets[j]) for i, j in pairs])
