"""The cycles in which pages of a trace changed: the input of evolution's simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.evolve.change_history import ChangeHistory, from_bits, from_contents
from recrawl.lab.replay import cycle_times
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
    if not trace.alive().all():
        raise BadInput(
            f"Every page of a simulation must exist throughout the window. {trace.name} has others;"
            " leave them out with trace.take(trace.alive())."
        )
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
    times = cycle_times(trace.window, every)
    if len(times) < 2:
        raise BadInput(
            f"The window of a trace must hold at least one cycle. {trace.name} holds none; "
            "make cycles shorter."
        )
    return np.column_stack([trace.version_at(at) for at in times])


def observed_share(trace: Trace, *, every: float = DAY) -> float:
    """The share of all pages and cycles that were observed; the rest is assumed."""
    if trace.certain is None:
        return 1.0
    return float(trace.certain[versions_by_cycle(trace, every)].mean())


def link_counter(trace: Trace, *, every: float = DAY) -> CountLinks:
    """A function that counts the new links of visits."""
    versions = versions_by_cycle(trace, every)

    def count(page: IntArray, last: IntArray, now: int) -> FloatArray:
        internal, external = trace.links.new(versions[page, last], versions[page, now])
        return (internal + external).astype(np.float64)

    return count


def column_of(trace: Trace, name: str, *, every: float = DAY) -> FloatArray:
    """A column of pages: for each page and cycle, what is known after a visit in that cycle.

    Only bytes is known of a trace: the size of the copy, as in a store. An unknown size counts as
    0, as in `page_terminals`.
    """
    if name != "bytes":
        raise BadInput(f"Of the columns of pages a trace knows only bytes. Got {name!r}.")
    if trace.body_bytes is None:
        raise BadInput(
            f"The terminal bytes needs the sizes of pages. {trace.name} does not know any; "
            "leave bytes out of --terminals."
        )
    return np.nan_to_num(trace.body_bytes[versions_by_cycle(trace, every)], nan=0.0)
