"""How good are the answers to searchers from the copies of a run? Q of Pandey & Olston (2005).

Q is exact, over whole queries; Q′ is over their single words, as the paper's estimates count them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import xxhash

from recrawl.search.matches import find_matches
from recrawl.search.quality import UsefulnessTracker, share_of_best
from recrawl.search.scoring import CorpusStatistics, tfidf
from recrawl.search.terms import count_terms
from recrawl.search.views import view_exponent, view_probabilities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray
    from recrawl.search.matches import Matches
    from recrawl.search.workload import Workload

#: The metrics, and how they are printed.
QUALITIES: Final = {"quality": "Q", "quality_by_word": "Q′"}


@dataclass(frozen=True)
class Answers:
    """What the queries of a workload find in a trace; measures runs on it."""

    trace: Trace
    document: IntArray  #: of each version
    matches: dict[str, Matches]  #: by metric
    p_view: FloatArray  #: view probability by rank

    @staticmethod
    def of(trace: Trace, workload: Workload) -> Answers:
        """Scores are TF-IDF, with the frequencies of words at the beginning of the window."""
        document, page, texts = trace_documents(trace, np.arange(len(trace.page)))
        counts = count_terms(texts, workload.vocabulary)
        first = trace.live_at(trace.window[0])
        known = counts.take(document[first[first >= 0]]) if (first >= 0).any() else counts
        score = tfidf(counts, CorpusStatistics.of(known, len(workload.vocabulary)))
        matches = {
            name: find_matches(counts, score, asked, page)
            for name, asked in zip(QUALITIES, (workload, workload.split_queries()), strict=True)
        }
        longest = max(each.longest() for each in matches.values())
        return Answers(
            trace, document, matches, view_probabilities(longest + 1, view_exponent(workload))
        )

    def measure(self, log: FetchLog) -> dict[str, float]:
        """Q and Q′ of a run: means over its cycles past warm-up, after the fetches."""
        return self._means(log, refreshing=True)

    def without_refreshes(self, log: FetchLog) -> dict[str, float]:
        """The same if the copies of the warm-up stayed as they are."""
        return {f"{k}_never": v for k, v in self._means(log, refreshing=False).items()}

    def _means(self, log: FetchLog, *, refreshing: bool) -> dict[str, float]:
        size = len(self.trace), self.p_view
        ours, best = (
            [UsefulnessTracker(matches, *size) for matches in self.matches.values()]
            for _ in range(2)
        )
        by_cycle = [
            (
                [tracker.usefulness(copies, live) for tracker in ours],
                [tracker.usefulness(live, live) for tracker in best],
            )
            for copies, live in self._repositories(log, refreshing=refreshing)
        ]
        useful = np.array(by_cycle).swapaxes(0, 1)  # of our copies and of live ones
        return dict(zip(self.matches, share_of_best(*useful).mean(axis=0).tolist(), strict=True))

    def _repositories(
        self, log: FetchLog, *, refreshing: bool
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """The documents that we hold and the live ones, after each cycle past warm-up."""
        held = np.full(len(self.trace), -1)
        _, fetched = log.versions(self.trace)
        for number, spent in enumerate(log.by_cycle()):
            page, at = log.page[spent], log.at[spent]
            if refreshing or number <= log.warm_up:
                # A visit to a page that is gone removes our copy; other failures keep it.
                came = log.succeeded[spent] | (self.trace.live(page, at) < 0)
                held[page[came]] = fetched[spent][came]
            if number > log.warm_up:
                now = float(at.max(initial=log.times[number]))
                yield self._documents(held), self._documents(self.trace.live_at(now))

    def _documents(self, version: IntArray) -> IntArray:
        return np.where(version >= 0, self.document[version], -1)


def trace_documents(trace: Trace, version: IntArray) -> tuple[IntArray, IntArray, pa.Array]:
    """The document of each version, −1 for none; the page and the text of each document.

    Versions of a page with equal texts are one document.
    """
    used = np.unique(version[version >= 0])
    texts = trace.contents["text"].combine_chunks().take(pa.array(used)).fill_null("")
    encoded = texts.cast(pa.large_binary()).to_pylist()
    hashes = np.array([xxhash.xxh3_64_intdigest(text) for text in encoded], np.uint64)
    both = np.stack([trace.page[used].astype(np.uint64), hashes])
    _, first, same = np.unique(both, axis=1, return_index=True, return_inverse=True)
    number = np.full(len(trace.page) + 1, -1, np.int32)  # the last one is for version −1
    number[used] = same.ravel()
    return number[version], trace.page[used][first].astype(np.int32), texts.take(pa.array(first))
