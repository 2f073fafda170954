"""What did the pages of a trace say day by day, and on which days did they change?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recrawl import registry
from recrawl.errors import BadInput
from recrawl.history.arrow import values
from recrawl.model import DAY
from recrawl.papers.radinsky.series.snapshots import MOST_WORDS, Snapshots, counted, vocabulary

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray


def days_of(trace: Trace) -> int:
    """Whole days of its window."""
    return int((trace.window[1] - trace.window[0]) / DAY + 1e-9)


def versions_by_day(trace: Trace, days: int, *, hour: float = 24.0) -> IntArray:
    """The version of each page at an hour of each day from the first; -1 where it is not there.

    Versions that say the same have the number of the first of them.
    """
    if not 0 < days <= days_of(trace):
        raise BadInput(
            f"days must be from 1 to the {days_of(trace)} that the trace {trace.name} has. "
            f"Got {days}; take fewer."
        )
    begin = trace.window[0] + hour * DAY / 24
    live = np.column_stack([trace.live_at(begin + day * DAY) for day in range(days)])
    first = np.flatnonzero(np.diff(trace.steps, prepend=-1))
    same = first[np.searchsorted(first, np.arange(len(trace.steps)), side="right") - 1]
    return np.where(live >= 0, same[live], -1)


def snapshots(
    trace: Trace, version: IntArray, *, most: int = MOST_WORDS, until: int | None = None
) -> Snapshots:
    """The words of these versions, the `most` common ones on the days before `until`."""
    kept = np.unique(version[version >= 0])
    texts = trace.contents["text"].take(pa.array(kept)).combine_chunks()
    early = texts.filter(pa.array(np.isin(kept, version[:, :until])))
    place = np.searchsorted(kept, version)
    table = counted(texts, vocabulary(early, most=most))
    return Snapshots(table, np.where(version >= 0, place, -1))


def changes(trace: Trace, version: IntArray, detector: str) -> FloatArray:
    """1 where a page differs from when it was last there, 0 where not; NaN where it is not there.

    So it is on the first day of a page.
    """
    there = version >= 0
    order = np.maximum.accumulate(np.where(there, np.arange(version.shape[1]), -1), axis=1)
    before = np.concatenate([np.full((len(version), 1), -1), order[:, :-1]], axis=1)
    old = np.where(before >= 0, np.take_along_axis(version, np.maximum(before, 0), axis=1), -1)
    differs = there & (old >= 0) & (old != version)
    pairs, which = np.unique(
        np.column_stack([old[differs], version[differs]]), axis=0, return_inverse=True
    )
    out = np.where(there & (old >= 0), 0.0, np.nan)
    out[differs] = _judged(trace, pairs, detector)[which.ravel()]
    return out


def _judged(trace: Trace, pairs: IntArray, detector: str) -> FloatArray:
    """What a detector says of pairs of different versions; by default all differ."""
    if detector == "digest":
        return np.ones(len(pairs))
    judge = registry.make("detector", detector)
    said = np.empty(len(pairs))
    for begin in range(0, len(pairs), 1_000):
        part = pairs[begin : begin + 1_000]
        before, after = (trace.contents.take(pa.array(side)) for side in part.T)
        said[begin : begin + 1_000] = values(judge.changed(before, after).cast(pa.int8()))
    return said
