"""Which trace does a text name? A file or folder, or a world to generate."""

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
    name: str,
    *,
    pages: int | None = None,
    days: int | None = None,
    seed: int = 0,
    window: tuple[Time, Time] | None = None,
) -> Trace:
    """The trace of a folder or file, else of a world of that name and size."""
    is_world = name.partition(":")[0].endswith(".py")
    if not is_world and (Path(name).exists() or "/" in name):
        return open_trace(name, window=window, cohort="all")
    world = registry.make("world", name)
    sizes = {"pages": pages, "days": days}
    made = world.make(**{k: v for k, v in sizes.items() if v is not None}, seed=seed)
    if made.content is None:
        raise BadInput(f"The world must have texts to serve. Got {name}; try poisson or hubs.")
    with TemporaryDirectory() as folder:
        trace = read_trace(write(made, Path(folder) / world.name))
        trace.contents.validate()  # reads them before the file is deleted
    return trace
