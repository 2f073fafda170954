"""What is a change? The versions of a trace as another detector than equality tells them apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recrawl.history.arrow import values
from recrawl.model import VISITS
from recrawl.registry import make

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import BoolArray, IntArray
    from recrawl.protocols import Detector


def seen_by(trace: Trace, detector: str) -> Trace:
    """The trace in which versions that a detector takes for the same have the same content.

    A version equal to an earlier one of its page is what that was. Any other is compared with the
    first of the like versions before it, not with the last, so that no page drifts away unseen.
    """
    judge: Detector = make("detector", detector)
    equal = _first_equal(trace)
    like = np.arange(len(equal))  #: the version whose content each one counts as
    counts = np.diff(trace.start)
    for number in range(1, int(counts.max(initial=0))):
        version = trace.start[:-1][counts > number] + number
        known = equal[version] < version
        like[version[known]] = like[equal[version[known]]]
        version = version[~known]
        before = like[version - 1]
        same = ~_changed(trace, judge, before, version)
        like[version[same]] = before[same]
    return replace(trace, content=trace.content[like])


def _first_equal(trace: Trace) -> IntArray:
    """For each version the first of its page with exactly its content."""
    order = np.lexsort((trace.content, trace.page))
    page, content = trace.page[order], trace.content[order]
    begins = np.concatenate([[True], (page[1:] != page[:-1]) | (content[1:] != content[:-1])])
    first = np.empty(len(order), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
    return first


def _changed(trace: Trace, judge: Detector, before: IntArray, after: IntArray) -> BoolArray:
    """What a detector says of pairs of versions; what it cannot tell counts as changed."""
    judged = judge.changed(_copies(trace, judge, before), _copies(trace, judge, after))
    return values(judged.fill_null(True)).astype(np.bool_)  # noqa: FBT003


def _copies(trace: Trace, judge: Detector, versions: IntArray) -> pa.Table:
    taken = trace.contents.take(pa.array(versions))
    columns = {
        name: taken[name].cast(VISITS.field(name).type)
        if name in taken.column_names
        else pa.nulls(len(versions), VISITS.field(name).type)
        for name in judge.needs
    }
    return pa.table(columns)
