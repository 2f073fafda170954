"""Writes a world as files in the format of traces, a batch at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recrawl.errors import BadInput
from recrawl.units import show_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.lab.worlds.world import Announcements, World, WorldContent
    from recrawl.model import IntArray

BATCH = 20_000  # versions in memory at once
SCHEMA = pa.schema(
    [
        pa.field("url", pa.string()),
        pa.field("site", pa.string()),
        pa.field("valid_from", pa.timestamp("ms", tz="UTC")),
        pa.field("status", pa.int16()),
        pa.field("text", pa.string()),
        pa.field("links", pa.list_(pa.string())),
    ]
)


def write(world: World, folder: str | Path) -> Path:
    """Write versions.parquet, or bits.txt for a world without content, and a README.md.

    What a sitemap announces is in signals.parquet.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"The folder of a world must be new or empty. Got {folder}; name another.")
    folder.mkdir(parents=True, exist_ok=True)
    if world.content is None:
        _write_bits(world, folder / "bits.txt")
    else:
        with pq.ParquetWriter(folder / "versions.parquet", SCHEMA) as file:
            for batch in _batches(world, world.content):
                file.write_table(batch)
    if world.announced is not None:
        pq.write_table(_claims(world, world.announced), folder / "signals.parquet")
    (folder / "README.md").write_text(_readme(world), encoding="utf-8")
    return folder


def _write_bits(world: World, file: Path) -> None:
    lines = np.full((len(world), world.days + 1), ord("\n"), np.uint8)
    lines[:, :-1] = world.bits() + ord("0")
    lines.tofile(file)


def _batches(world: World, content: WorldContent) -> Iterator[pa.Table]:
    versions = np.diff(world.start) + 1
    first = np.concatenate([[0], np.cumsum(versions)])
    urls = np.array(world.urls, dtype=object)
    for low in range(0, int(first[-1]), BATCH):
        row = np.arange(low, min(low + BATCH, first[-1]))
        page = np.searchsorted(first, row, side="right") - 1
        yield _table(world, content, urls[page].tolist(), page, row - first[page])


def _table(
    world: World, content: WorldContent, urls: list[str], page: IntArray, version: IntArray
) -> pa.Table:
    change = np.maximum(world.start[page] + version - 1, 0)
    changed = world.at[change] if len(world.at) else np.full(len(page), world.window[0])
    at = np.where(version > 0, changed, world.window[0])
    columns = {
        "url": urls,
        "site": [url.split("/", 3)[2] for url in urls],
        "valid_from": pa.array((at * 1e3).astype(np.int64)).cast(SCHEMA.field("valid_from").type),
        "status": np.full(len(page), 200, np.int16),
        "text": content.texts(page, version),
        "links": content.links(page, version),
    }
    return pa.table(columns, schema=SCHEMA)


def _claims(world: World, announced: Announcements) -> pa.Table:
    order = np.lexsort((announced.page, announced.at))
    at = pa.array((announced.at[order] * 1e3).astype(np.int64)).cast(pa.timestamp("ms", "UTC"))
    urls = pa.array(world.urls, pa.string()).take(pa.array(announced.page[order]))
    kind = pa.array(["sitemap"] * len(order), pa.string())
    return pa.table({"url": urls, "kind": kind, "said": at, "seen": at})


def _readme(world: World) -> str:
    begin, end = map(show_time, world.window)
    never = float(np.mean(np.diff(world.start) == 0))
    return (
        f"# {world.name}\n\nA made-up web. `{world.made}` makes it again.\n\n"
        f"Window: {begin} .. {end}\n"
        f"Pages {len(world)}, changes {len(world.at)}; pages that never change {never:.1%}.\n"
    )
