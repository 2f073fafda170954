"""A trace day by day: which version each page shows, its words, and whether it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy.sparse import vstack

from recrawl import registry
from recrawl.errors import BadInput
from recrawl.history.arrow import values
from recrawl.model import DAY
from recrawl.page.word_buckets import N_BUCKETS, document_counts
from recrawl.papers.radinsky.series.snapshots import (
    MAX_CHARACTERS,
    VOCABULARY_SIZE,
    Snapshots,
    count_words,
    most_frequent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray

BATCH = 1_000  #: texts, or pairs of them, read at a time


def days_of(trace: Trace) -> int:
    """Number of whole days in the trace's window."""
    return int((trace.window[1] - trace.window[0]) / DAY + 1e-9)


def versions_by_day(trace: Trace, days: int) -> IntArray:
    """Version of each page at the end of each day, pages × days; -1 where the page is absent.

    Successive versions with equal content have the number of the first of them.
    """
    if not 0 < days <= days_of(trace):
        raise BadInput(
            f"days must be from 1 to the {days_of(trace)} that the trace {trace.name} has. "
            f"Got {days}; take fewer."
        )
    end_of_day = trace.window[0] + DAY * np.arange(1, days + 1)
    live = np.column_stack([trace.live_at(at) for at in end_of_day])
    first = np.flatnonzero(np.diff(trace.steps, prepend=-1))
    same = first[np.searchsorted(first, np.arange(len(trace.steps)), side="right") - 1]
    return np.where(live >= 0, same[live], -1)


def vocabulary_of(trace: Trace, version: IntArray, *, words: int = VOCABULARY_SIZE) -> IntArray:
    """The vocabulary of the texts of these versions."""
    frequency = sum(
        (document_counts(texts, MAX_CHARACTERS) for texts in _texts(trace, version)),
        np.zeros(N_BUCKETS, np.int64),
    )
    return most_frequent(frequency, words)


def snapshots_of(trace: Trace, version: IntArray, column: IntArray | None = None) -> Snapshots:
    """Word counts of these versions; `column` is a vocabulary, by default that of their texts."""
    column = vocabulary_of(trace, version) if column is None else column
    counts = vstack([count_words(texts, column) for texts in _texts(trace, version)], format="csr")
    versions = np.unique(version[version >= 0])
    return Snapshots(counts, np.where(version >= 0, np.searchsorted(versions, version), -1))


def _texts(trace: Trace, version: IntArray) -> Iterator[pa.Array]:
    """Texts of the distinct versions, ascending, in batches: all at once may fill the memory."""
    versions = np.unique(version[version >= 0])
    for begin in range(0, max(len(versions), 1), BATCH):
        some = pa.array(versions[begin : begin + BATCH])
        yield trace.contents["text"].take(some).combine_chunks()


def changes_by_day(trace: Trace, version: IntArray, detector: str) -> FloatArray:
    """1 where a page differs from its previous version, 0 where it does not (§3.1).

    NaN on days on which a page is absent, and on its first day.
    """
    present = version >= 0
    day = np.maximum.accumulate(np.where(present, np.arange(version.shape[1]), -1), axis=1)
    before = np.concatenate([np.full((len(version), 1), -1), day[:, :-1]], axis=1)
    old = np.where(before >= 0, np.take_along_axis(version, np.maximum(before, 0), axis=1), -1)
    differs = present & (old >= 0) & (old != version)
    pairs, pair = np.unique(
        np.column_stack([old[differs], version[differs]]), axis=0, return_inverse=True
    )
    changed = np.where(present & (old >= 0), 0.0, np.nan)
    changed[differs] = _is_change(trace, pairs, detector)[pair.ravel()]
    return changed


def _is_change(trace: Trace, pairs: IntArray, detector: str) -> FloatArray:
    """Verdict of the detector on pairs of distinct versions; `digest` calls all of them changes."""
    if detector == "digest":
        return np.ones(len(pairs))
    judge = registry.make("detector", detector)
    verdict = np.empty(len(pairs))
    for begin in range(0, len(pairs), BATCH):
        batch = slice(begin, begin + BATCH)
        before, after = (trace.contents.take(pa.array(side)) for side in pairs[batch].T)
        verdict[batch] = values(judge.changed(before, after).cast(pa.int8()))
    return verdict
