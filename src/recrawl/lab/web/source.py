"""Which trace do these words name? A file of one, or a world to make."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from recrawl import registry
from recrawl.errors import BadInput
from recrawl.lab.trace import read_trace
from recrawl.lab.traces import open_trace
from recrawl.lab.worlds import write

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import Time


def trace_of(
    written: str,
    *,
    pages: int | None = None,
    days: int | None = None,
    seed: int = 0,
    window: tuple[Time, Time] | None = None,
) -> Trace:
    """A folder or file, else a world as `registry.make` takes it, of that size."""
    if Path(written).exists() or "/" in written:
        return open_trace(written, window=window, cohort="all")
    world = registry.make("world", written)
    sizes = {"pages": pages, "days": days}
    made = world.make(**{k: v for k, v in sizes.items() if v is not None}, seed=seed)
    if made.content is None:
        raise BadInput(f"The world must have texts to serve. Got {written}; try poisson or hubs.")
    with TemporaryDirectory() as folder:
        trace = read_trace(write(made, Path(folder) / world.name))
        trace.contents.validate()  # reads them while the file is there
    return trace
