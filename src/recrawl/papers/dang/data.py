"""What would weekly crawls of a trace have shown? The data that Dang et al. (2021) predict from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from recrawl import units
from recrawl.errors import BadInput
from recrawl.lab.replay import cycle_times
from recrawl.model import DAY, owners
from recrawl.neighbours.graph import pagerank
from recrawl.neighbours.nearest import nearest
from recrawl.neighbours.vectors import TextSpace
from recrawl.page.word_buckets import count_words
from recrawl.papers.dang.crawls import Crawl, Interval, Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray

CRAWLS = 10  #: of the paper
TRUSTED = 0.01  #: share of the pages, those of the highest PageRank, trusted if none are named
LEAST = 40  #: pages; fewer cannot be split for training, tuning and a test
READ = 200_000  #: characters of a text in which words are counted


@dataclass(frozen=True)
class Study:
    """The pages that were there all the time, and what is to be told of each kind of links."""

    name: str
    look: Snapshot
    rate: dict[str, FloatArray]  #: LCR, by kind of links: share of all intervals with new ones
    count: dict[str, FloatArray]  #: NNL: how many came in the last interval
    changed: FloatArray  #: CCR: share of the earlier intervals in which the content changed

    def __len__(self) -> int:
        return len(self.changed)


def study(
    trace: Trace,
    *,
    every: float = 7 * DAY,
    history: int = 8,
    strict: bool = True,
    trusted: Sequence[str] | None = None,
) -> Study:
    """The last crawls of a trace, as many as the paper's, of pages with text in all of them."""
    times = _times(trace, every, history)
    versions = np.array([trace.live_at(time) for time in times])
    said = Said.of(trace, versions[:, (versions >= 0).all(axis=0)])
    page = trace.page[said.versions[0]]
    seeds = None if trusted is None else _rows(trace, page, trusted)
    days = np.full(len(page), every / DAY)
    new = [trace.links.new(*pair) for pair in pairwise(said.versions)]
    intervals = [Interval(days, *(np.asarray(n, float) for n in pair)) for pair in new]
    text = said.text.take(pa.array(said.place[-1 - strict]))
    vectors = TextSpace().fit(text).embed(text)
    # The authors' program weighs by inverse distance, where their text says by cosine.
    near = nearest(vectors, weights="cosine" if strict else "inverse")
    crawls = _crawls(trace, said, page, seeds)
    look = Snapshot(crawls, intervals, near, vectors, unit=every / DAY, strict=strict)
    kinds = {
        "internal": [interval.new_internal for interval in intervals],
        "external": [interval.new_external for interval in intervals],
    }
    return Study(
        name=trace.name,
        look=look,
        rate={kind: (np.array(new) > 0).mean(axis=0) for kind, new in kinds.items()},
        count={kind: new[-1] for kind, new in kinds.items()},
        changed=said.change_rate(),
    )


@dataclass(frozen=True)
class Said:
    """What pages said: versions that stay from crawl to crawl are read once."""

    versions: IntArray  #: a row a crawl, a column a page
    kept: IntArray  #: each version once
    place: IntArray  #: of the versions among these
    text: pa.Array  #: of these

    @staticmethod
    def of(trace: Trace, versions: IntArray) -> Said:
        """The pages that say something in every crawl."""
        kept, place = np.unique(versions, return_inverse=True)
        text = trace.texts(trace.page[kept], trace.valid_from[kept]).fill_null("")
        place = place.reshape(versions.shape)
        able = (np.asarray(pc.binary_length(text)) > 0)[place].all(axis=0)
        if able.sum() < LEAST:
            raise BadInput(
                f"The trace {trace.name} must have {LEAST} pages with text in all "
                f"{len(versions)} crawls. Got {able.sum()}; give a shorter --every or --history."
            )
        return Said(versions[:, able], kept, place[:, able], text)

    def change_rate(self) -> FloatArray:
        """CCR: in what share of the intervals before the last the text changed."""
        number = np.asarray(self.text.dictionary_encode().indices)[self.place]
        rate: FloatArray = (number[1:-1] != number[:-2]).mean(axis=0)
        return rate


def _times(trace: Trace, every: float, history: int) -> FloatArray:
    begin, end = trace.window
    count = min(len(cycle_times(trace.window, every)), CRAWLS)
    if count < max(history + 2, 3):
        raise BadInput(
            f"The window must hold {max(history + 2, 3)} crawls: the history, the present and "
            f"what is to be told. Got {count}, {units.show_days(every / DAY)} apart; "
            "give a shorter --every or --history."
        )
    last = end - (end - begin) % every
    return last - every * np.arange(count - 1, -1, -1.0)


def _rows(trace: Trace, page: IntArray, trusted: Sequence[str]) -> IntArray:
    row = {trace.urls[p]: i for i, p in enumerate(page.tolist())}
    found = np.array([row[url] for url in trusted if url in row], np.int64)
    if not len(found):
        raise BadInput(
            f"The trusted must name pages of the trace that have text. Got {len(trusted)} that are "
            f"none; the first page is {trace.urls[int(page[0])]}."
        )
    return found


def _crawls(trace: Trace, said: Said, page: IntArray, trusted: IntArray | None) -> list[Crawl]:
    words, distinct = count_words(said.text, READ)
    text_bytes = np.asarray(pc.binary_length(said.text), np.float64)
    link_bytes = _link_bytes(trace)[said.kept]
    urls = pa.array(trace.urls, pa.string()).take(pa.array(page))
    row = np.full(len(trace) + 1, -1)
    row[page] = np.arange(len(page))
    found = []
    for version, at in zip(said.versions, said.place, strict=True):
        links = trace.links.take(version)
        source, target = owners(links.start), row[links.page[links.target]]
        outward = np.bincount(source[~links.internal], minlength=len(page)).astype(float)
        among = (target >= 0) & (target != source)
        edges = source[among], target[among]
        found.append(
            Crawl(
                urls=urls,
                bytes=text_bytes[at] + link_bytes[at],
                text_bytes=text_bytes[at],
                words=words[at],
                distinct=distinct[at],
                internal=np.diff(links.start) - outward,
                external=outward,
                source=edges[0],
                target=edges[1],
                inside=links.internal[among],
                trusted=_central(*edges, len(page)) if trusted is None else trusted,
            )
        )
    return found


def _central(source: IntArray, target: IntArray, pages: int) -> IntArray:
    rank = pagerank(source, target, pages)
    return np.sort(np.argsort(-rank, kind="stable")[: max(int(TRUSTED * pages), 1)])


def _link_bytes(trace: Trace) -> FloatArray:
    """Of each version the bytes of the links on it: with its text all that a trace has of it."""
    found = []
    with pq.ParquetFile(trace.file) as file:
        for batch in file.iter_batches(batch_size=1_000, columns=["links"]):
            links = batch["links"]
            size = np.asarray(pc.binary_length(links.flatten()), np.float64)
            owner = np.asarray(pc.list_parent_indices(links))
            found.append(np.bincount(owner, size, minlength=len(links)).astype(np.float64))
    return np.concatenate(found)[trace.row]
