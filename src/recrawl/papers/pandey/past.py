"""What would searchers have found, cycle by cycle? A trace's copies, a workload's matches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import xxhash

from recrawl.errors import BadInput
from recrawl.lab.replay import cycle_times
from recrawl.page.fingerprints import shingle_distance, shingles, words
from recrawl.search import terms
from recrawl.search.curves import curves
from recrawl.search.gain import measured
from recrawl.search.inspection import exponent_of, inspection
from recrawl.search.matches import Matches, matches
from recrawl.search.quality import gains, usefulness
from recrawl.search.queries import STOP, workload
from recrawl.search.scoring import Collection, scoring
from recrawl.search.static import WEIGHTS, inlinks
from recrawl.search.workload import above_knee, relevance

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray
    from recrawl.search.queries import Workload

TITLE_TERMS = 4  #: of a title that make a query


@dataclass(frozen=True)
class Past:
    """Copies of pages by cycle, and what queries find in them.

    Cycle 0 is that of the first copies. A change is a page whose copy differs from a cycle before.
    """

    live: IntArray  #: a row a cycle, a column a page: the document that it is
    found: Matches  #: of all queries
    looked: FloatArray  #: inspection by rank
    cycle: IntArray  #: of each change
    page: IntArray  #: of each change
    distance: FloatArray  #: of each change: share of the shingles not in both copies
    gain: FloatArray  #: of each change: what its refresh alone adds to usefulness
    approximated: FloatArray  #: the same, as measured while an index is updated
    every: float  #: seconds from cycle to cycle
    queries: int  #: that find any page
    volume: float  #: their share of the workload
    mark: str  #: names all that this was made from

    @property
    def pages(self) -> int:
        return int(self.live.shape[1])

    @cached_property
    def _moving(self) -> Matches:
        """The queries whose answers may change; the others' are always right."""
        copies = np.bincount(self.found.page, minlength=self.pages)
        moves = (copies[self.found.page] > 1)[self.found.document]
        so_far = np.concatenate([[0], np.cumsum(moves)])
        query = np.flatnonzero(so_far[self.found.start[1:]] > so_far[self.found.start[:-1]])
        return self.found.take(query)

    @cached_property
    def _best(self) -> FloatArray:
        """By cycle the usefulness of live copies: to queries that may change, and to all."""
        moving = [usefulness(self._moving, row, row, self.looked) for row in self.live]
        every = usefulness(self.found, self.live[0], self.live[0], self.looked)
        return np.array([moving, np.array(moving) + every - moving[0]])

    def quality(self, copies: IntArray, cycle: int) -> float:
        """Q of copies in a cycle, exactly."""
        moving, every = self._best[:, cycle]
        useful = usefulness(self._moving, copies, self.live[cycle], self.looked)
        return (useful + every - moving) / every if every > 0 else 1.0


def past_of(
    trace: Trace,
    asked: Workload,
    *,
    every: float,
    by: str = "tfidf",
    most: int | None = None,
    knee: bool = False,
) -> Past:
    """What a workload finds in a trace: its queries that find any page, the `most` asked of them.

    With `knee` only those relevant to the pages.
    """
    version = np.array([trace.live_at(at) for at in cycle_times(trace.window, every)])
    live, page, texts = _documents(trace, version)
    weight = WEIGHTS[by](*_edges(trace, version[0]), len(trace)) if by in WEIGHTS else None
    asked, volume = _about(asked, texts, live[0], most=most, knee=knee)
    counts = terms.counted(texts, asked.vocabulary)
    among = Collection.of(counts.take(live[0]), len(asked.vocabulary))
    score = scoring(by)(counts, among) if weight is None else weight[page[counts.texts()]]
    found = matches(counts, score, asked, page, weight)
    looked = inspection(found.longest() + 1, exponent_of(asked))
    changed = live[1:] != live[:-1]
    cycle, who = np.nonzero(changed)
    exact, measured_ = [], []
    for i, some in enumerate(changed):
        rows = np.flatnonzero(some)
        exact.append(gains(found, live[i], live[i + 1], looked)[rows])
        measured_.append(_approximated(counts, score, asked, live[i], live[i + 1], rows))
    return Past(
        live=live,
        found=found,
        looked=looked,
        cycle=cycle + 1,
        page=who,
        distance=_distances(texts, live[cycle, who], live[cycle + 1, who]),
        gain=np.concatenate(exact),
        approximated=np.concatenate(measured_),
        every=every,
        queries=len(asked),
        volume=volume,
        mark=_mark(live, found),
    )


def titles(trace: Trace) -> Workload:
    """A workload about the pages: their titles, by rank of the page in links to it."""
    version = trace.live_at(trace.window[0])
    order = np.argsort(-inlinks(*_edges(trace, version), len(trace)), kind="stable")
    share = np.empty(len(trace))
    share[order] = 1.0 / np.arange(1.0, len(trace) + 1.0)
    stop = set(STOP.split())
    text = trace.texts(np.arange(len(trace)), np.full(len(trace), trace.window[0])).to_pylist()
    heads = [words((said or "").partition("\n")[0]) for said in text]
    short = [[word for word in head if word not in stop][:TITLE_TERMS] for head in heads]
    return workload([" ".join(head) for head in short], share)


def _documents(trace: Trace, version: IntArray) -> tuple[IntArray, IntArray, pa.Array]:
    """The document of each page in each cycle; of each document its page and text."""
    used, place = np.unique(version, return_inverse=True)
    texts = trace.contents["text"].combine_chunks().take(pa.array(used)).fill_null("")
    said = texts.cast(pa.large_binary()).to_pylist()
    mark = np.array([xxhash.xxh3_64_intdigest(text) for text in said], np.uint64)
    both = np.stack([trace.page[used].astype(np.uint64), mark])
    _, first, same = np.unique(both, axis=1, return_index=True, return_inverse=True)
    live = same.ravel()[place.reshape(version.shape)].astype(np.int32)
    return live, trace.page[used][first].astype(np.int32), texts.take(pa.array(first))


def _edges(trace: Trace, version: IntArray) -> tuple[IntArray, IntArray]:
    """Links between pages of the trace, from and to."""
    links = trace.links.take(version)
    target = links.page[links.target]
    source = np.repeat(np.arange(len(version)), np.diff(links.start))
    return source[target >= 0], target[target >= 0]


def _about(
    asked: Workload, texts: pa.Array, first: IntArray, *, most: int | None, knee: bool
) -> tuple[Workload, float]:
    """The queries that find any document, and the share of the workload that they are."""
    counts = terms.counted(texts, asked.vocabulary)
    among = Collection.of(counts.take(first), len(asked.vocabulary))
    found = matches(counts, scoring("tfidf")(counts, among), asked, np.arange(len(texts)))
    relevant = relevance(found)
    kept = np.flatnonzero(above_knee(relevant) if knee else relevant > 0)
    kept = kept[np.argsort(-asked.frequency[kept], kind="stable")][:most]
    if not len(kept):
        raise BadInput("Of the queries at least one must find a page of the trace. None does.")
    return asked.take(np.sort(kept)), float(asked.frequency[kept].sum())


def _approximated(
    counts: terms.Counts,
    score: FloatArray,
    asked: Workload,
    before: IntArray,
    after: IntArray,
    rows: IntArray,
) -> FloatArray:
    """The gain of these pages' refreshes, by curves of the cycle before."""
    held = np.zeros(len(counts.length), np.bool_)
    held[before] = True
    mine = held[counts.texts()]
    known = curves(counts.term[mine], score[mine], len(asked.vocabulary))
    old, new = counts.places(before[rows]), counts.places(after[rows])
    return measured(
        (counts.take(before[rows]), score[old]),
        (counts.take(after[rows]), score[new]),
        asked.by_term(),
        known,
        exponent=exponent_of(asked),
    )


def _distances(texts: pa.Array, before: IntArray, after: IntArray) -> FloatArray:
    """The share of the shingles of each pair of documents that is not in both."""
    used, place = np.unique(np.stack([before, after]), return_inverse=True)
    sets = [shingles(text) for text in texts.take(pa.array(used)).to_pylist()]
    pairs = zip(*place.reshape(2, -1).tolist(), strict=True)
    return np.array([shingle_distance(sets[i], sets[j]) for i, j in pairs])


def _mark(live: IntArray, found: Matches) -> str:
    said = xxhash.xxh3_64()
    for column in (live, found.start, found.document, found.score, found.frequency):
        said.update(np.ascontiguousarray(column).tobytes())
    return said.hexdigest()
