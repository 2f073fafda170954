"""In which cycles did the pages of a trace change? What evolution simulates on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from recrawl.errors import BadInput
from recrawl.evolve.change_history import ChangeHistory, from_bits, from_contents
from recrawl.model import DAY
from recrawl.urls import keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.evolve.simulator import CountLinks
    from recrawl.lab.trace import Trace
    from recrawl.lab.worlds import World
    from recrawl.model import FloatArray, IntArray

MOST = 2**16  #: versions of a page


def changes_of(trace: Trace, *, every: float = DAY) -> ChangeHistory:
    """What visits to the pages of a trace in each cycle would show; all must be there throughout.

    Cycles and ties are those of `replay`, so a simulation picks the pages that a replay picks.
    """
    versions = versions_by_cycle(trace, every)
    if np.diff(trace.start).max(initial=0) >= MOST:
        raise BadInput(f"A page of a trace must have fewer than {MOST:,} versions. {trace.name}.")
    contents = (_first_alike(trace)[versions] - trace.start[:-1, None]).astype(np.uint16)
    return from_contents(contents, keys(trace.urls), cycle_days=every / DAY)


def changes_of_world(world: World) -> ChangeHistory:
    """The same for a world made of bits."""
    return from_bits(world.bits() == 1, keys(world.urls))


def versions_by_cycle(trace: Trace, every: float) -> NDArray[np.int64]:
    """The version of each page, a row a page, in cycles 0, 1, …"""
    begin, end = trace.window
    cycles = int((end - begin) / every + 1e-9)
    if cycles < 1:
        raise BadInput(
            f"The window of a trace must hold at least one cycle. {trace.name} holds none; "
            "make cycles shorter."
        )
    found = np.empty((len(trace), cycles + 1), np.int64)
    for cycle in range(cycles + 1):
        found[:, cycle] = trace.version_at(begin + every * cycle)
    return found


def _first_alike(trace: Trace) -> IntArray:
    """For each version the first of its page that says the same."""
    order = np.lexsort((trace.valid_from, trace.content, trace.page))
    page, content = trace.page[order], trace.content[order]
    new = np.concatenate([[True], (page[1:] != page[:-1]) | (content[1:] != content[:-1])])
    first = np.empty(len(order), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))]
    return first


def link_counter(trace: Trace, rows: IntArray, *, every: float = DAY) -> CountLinks:
    """Counts the new links that visits show; pages are numbered as in `rows` of the trace."""
    versions = versions_by_cycle(trace, every)[rows]

    def count(page: IntArray, last: IntArray, now: int) -> FloatArray:
        internal, external = trace.links.new(versions[page, last], versions[page, now])
        return (internal + external).astype(np.float64)

    return count


def column_of(trace: Trace, name: str) -> FloatArray:
    """A column of the pages that a trace knows when its window begins."""
    if name != "bytes":
        raise BadInput(f"Of the columns of pages a trace knows only bytes. Got {name!r}.")
    first = trace.version_at(trace.window[0])
    texts = trace.contents["text"].take(first)
    return np.asarray(pc.fill_null(pc.binary_length(texts), 0), np.float64)
