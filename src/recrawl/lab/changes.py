"""The cycles in which pages of a trace changed: the input of evolution's simulations."""

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

MAX_VERSIONS = 2**16  #: of a page


def changes_of(trace: Trace, *, every: float = DAY) -> ChangeHistory:
    """What a visit to each page would show in each cycle; all pages must exist throughout.

    Cycles and ties are those of `replay`, so a simulation picks the pages that a replay picks.
    """
    versions = versions_by_cycle(trace, every)
    if np.diff(trace.start).max(initial=0) >= MAX_VERSIONS:
        raise BadInput(
            f"A page of a trace must have fewer than {MAX_VERSIONS:,} versions. {trace.name}."
        )
    contents = (trace.first_equal[versions] - trace.start[:-1, None]).astype(np.uint16)
    return from_contents(contents, keys(trace.urls), cycle_days=every / DAY)


def changes_of_world(world: World) -> ChangeHistory:
    """The changes of a world that consists of bits."""
    return from_bits(world.bits() == 1, keys(world.urls))


def versions_by_cycle(trace: Trace, every: float) -> NDArray[np.int64]:
    """The version of each page, a row for each page, a column for each cycle 0, 1, …"""
    begin, end = trace.window
    cycles = int((end - begin) / every + 1e-9)
    if cycles < 1:
        raise BadInput(
            f"The window of a trace must hold at least one cycle. {trace.name} holds none; "
            "make cycles shorter."
        )
    versions = [trace.version_at(begin + every * cycle) for cycle in range(cycles + 1)]
    return np.column_stack(versions)


def link_counter(trace: Trace, rows: IntArray, *, every: float = DAY) -> CountLinks:
    """A function that counts the new links of visits; page i is page rows[i] of the trace."""
    versions = versions_by_cycle(trace, every)[rows]

    def count(page: IntArray, last: IntArray, now: int) -> FloatArray:
        internal, external = trace.links.new(versions[page, last], versions[page, now])
        return (internal + external).astype(np.float64)

    return count


def column_of(trace: Trace, name: str) -> FloatArray:
    """A column of the pages as it is when the window begins; only bytes is known."""
    if name != "bytes":
        raise BadInput(f"Of the columns of pages a trace knows only bytes. Got {name!r}.")
    first = trace.version_at(trace.window[0])
    texts = trace.contents["text"].take(first)
    return np.asarray(pc.fill_null(pc.binary_length(texts), 0), np.float64)
