"""Gives the versions of a trace that a detector calls unchanged the same content."""

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
    """The trace as the detector sees it: unchanged versions have the same content.

    A version equal to an earlier one of its page gets that one's content. Any other is compared
    with the first of the run of unchanged versions before it. Comparing with the last would miss
    a page that drifts away in small steps.
    """
    judge: Detector = make("detector", detector)
    equal = trace.first_equal
    like = np.arange(len(equal))  # the version whose content each one gets
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


def _changed(trace: Trace, judge: Detector, before: IntArray, after: IntArray) -> BoolArray:
    """Which pairs of versions the detector calls changed; so are pairs that it cannot compare."""
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
