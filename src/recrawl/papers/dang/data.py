"""What would weekly crawls of a trace have shown? The data of the study of Dang et al. (2021)."""

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
from recrawl.papers.dang.meaning import merging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray

N_CRAWLS = 10  #: as in the paper
TRUSTED_SHARE = 0.01  #: of the pages, those of the highest PageRank; used if none are named
MIN_PAGES = 40  #: fewer cannot be split for training, tuning and a test
MAX_CHARACTERS = 200_000  #: of a text in which words are counted


@dataclass(frozen=True)
class Study:
    """The pages that exist in all crawls, and the prediction targets for each kind of links."""

    name: str
    snapshot: Snapshot
    rate: dict[str, FloatArray]  #: LCR by kind of links: share of intervals with new ones
    count: dict[str, FloatArray]  #: NNL: new links in the last interval
    changed: FloatArray  #: CCR: share of the intervals that are seen in which the text changed

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
    """The last N_CRAWLS crawls of a trace, of pages with text in all of them."""
    times = _times(trace, every, history)
    versions = np.array([trace.live_at(time) for time in times])
    texts = CrawlTexts.of(trace, versions[:, (versions >= 0).all(axis=0)])
    page = trace.page[texts.versions[0]]
    seeds = None if trusted is None else _rows(trace, page, trusted)
    days = np.full(len(page), every / DAY)
    new = [trace.links.new(*pair) for pair in pairwise(texts.versions)]
    intervals = [Interval(days, *(np.asarray(n, float) for n in pair)) for pair in new]
    present = texts.place[-1 - strict]  # what is learned from texts is learned from this crawl
    vectors = TextSpace().fit(texts.text.take(pa.array(present))).embed(texts.text)
    # The authors' program weighs by inverse distance, where their text says by cosine.
    near = nearest(vectors[present], weights="cosine" if strict else "inverse")
    crawls = _crawls(trace, texts, page, seeds, vectors @ merging(vectors[present]))
    snapshot = Snapshot(crawls, intervals, near, unit=every / DAY, strict=strict)
    kinds = {
        "internal": [interval.new_internal for interval in intervals],
        "external": [interval.new_external for interval in intervals],
    }
    return Study(
        name=trace.name,
        snapshot=snapshot,
        rate={kind: (np.array(new) > 0).mean(axis=0) for kind, new in kinds.items()},
        count={kind: new[-1] for kind, new in kinds.items()},
        changed=texts.change_rate(strict=strict),
    )


@dataclass(frozen=True)
class CrawlTexts:
    """The texts of all crawls; a version that stays from crawl to crawl is read once."""

    versions: IntArray  #: one row per crawl, one column per page
    kept: IntArray  #: each version once
    place: IntArray  #: of each of `versions` in `kept`
    text: pa.Array  #: of each of `kept`

    @staticmethod
    def of(trace: Trace, versions: IntArray) -> CrawlTexts:
        """The pages that have text in every crawl."""
        kept, place = np.unique(versions, return_inverse=True)
        text = trace.texts(trace.page[kept], trace.valid_from[kept]).fill_null("")
        place = place.reshape(versions.shape)
        has_text = (np.asarray(pc.binary_length(text)) > 0)[place].all(axis=0)
        if has_text.sum() < MIN_PAGES:
            raise BadInput(
                f"The trace {trace.name} must have {MIN_PAGES} pages with text in all "
                f"{len(versions)} crawls. Got {has_text.sum()}; "
                "give a shorter --every or --history."
            )
        return CrawlTexts(versions[:, has_text], kept, place[:, has_text], text)

    def change_rate(self, *, strict: bool) -> FloatArray:
        """CCR: share of the intervals in which the text changed; if strict, but for the last."""
        number = np.asarray(self.text.dictionary_encode().indices)[self.place]
        changed: FloatArray = number[1:] != number[:-1]
        rate: FloatArray = changed[: len(changed) - strict].mean(axis=0)
        return rate


def _times(trace: Trace, every: float, history: int) -> FloatArray:
    begin, end = trace.window
    count = min(len(cycle_times(trace.window, every)), N_CRAWLS)
    if count < max(history + 2, 3):
        raise BadInput(
            f"The window must hold {max(history + 2, 3)} crawls: the history, the present and "
            f"the target. Got {count}, {units.show_days(every / DAY)} apart; "
            "give a shorter --every or --history."
        )
    last = end - (end - begin) % every
    return last - every * np.arange(count - 1, -1, -1.0)


def _rows(trace: Trace, page: IntArray, trusted: Sequence[str]) -> IntArray:
    row = {trace.urls[p]: i for i, p in enumerate(page.tolist())}
    rows = np.array([row[url] for url in trusted if url in row], np.int64)
    if not len(rows):
        raise BadInput(
            f"trusted must name pages of the trace that have text. Got {len(trusted)} other URLs; "
            f"the first page is {trace.urls[int(page[0])]}."
        )
    return rows


def _crawls(
    trace: Trace,
    texts: CrawlTexts,
    page: IntArray,
    trusted: IntArray | None,
    meaning: FloatArray,
) -> list[Crawl]:
    """The columns of each crawl; `meaning` has a row for each of `texts.kept`."""
    words, distinct = count_words(texts.text, MAX_CHARACTERS)
    text_bytes = np.asarray(pc.binary_length(texts.text), np.float64)
    link_bytes = _link_bytes(trace)[texts.kept]
    urls = pa.array(trace.urls, pa.string()).take(pa.array(page))
    row = np.full(len(trace) + 1, -1)
    row[page] = np.arange(len(page))
    crawls = []
    for version, at in zip(texts.versions, texts.place, strict=True):
        links = trace.links.take(version)
        source, target = owners(links.start), row[links.page[links.target]]
        outward = np.bincount(source[~links.internal], minlength=len(page)).astype(float)
        among = (target >= 0) & (target != source)
        edges = source[among], target[among]
        crawls.append(
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
                trusted=_most_central(*edges, len(page)) if trusted is None else trusted,
                meaning=meaning[at],
            )
        )
    return crawls


def _most_central(source: IntArray, target: IntArray, pages: int) -> IntArray:
    rank = pagerank(source, target, pages)
    return np.sort(np.argsort(-rank, kind="stable")[: max(int(TRUSTED_SHARE * pages), 1)])


def _link_bytes(trace: Trace) -> FloatArray:
    """The bytes of the links of each version; with its text this is all that a trace has."""
    sizes = []
    with pq.ParquetFile(trace.file) as file:
        for batch in file.iter_batches(batch_size=1_000, columns=["links"]):
            links = batch["links"]
            size = np.asarray(pc.binary_length(links.flatten()), np.float64)
            owner = np.asarray(pc.list_parent_indices(links))
            sizes.append(np.bincount(owner, size, minlength=len(links)).astype(np.float64))
    return np.concatenate(sizes)[trace.row]
