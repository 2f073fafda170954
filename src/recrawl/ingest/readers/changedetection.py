"""The datastore of changedetection.io: url-watches.json, and beside it a history of each watch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from recrawl.errors import BadInput
from recrawl.ingest.batches import tables
from recrawl.ingest.foreign_values import check_ranges
from recrawl.ingest.lines import MALFORMED, reason
from recrawl.ingest.visit_records import row_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

_MAX_BYTES = 16 << 20  # of url-watches.json; its objects take many times as much
_MAX_HISTORY_BYTES = 4 << 20
_MAX_TEXT_BYTES = 10_000_000  # of a snapshot
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Changedetection:
    """The datastore of changedetection.io: its snapshots, and the last check of each watch.

    It keeps a snapshot only when a page has changed. The checks between are not recorded: rates
    learned from it are too high.
    """

    name: ClassVar[str] = "changedetection"
    folder_file: ClassVar[str] = "url-watches.json"  #: a folder with this file can be given instead

    def example(self) -> bytes:
        watch = {"url": "https://example.org/", "last_checked": 1_769_860_800, "last_error": False}
        watches = {"6a4f6e24-2f0c-4b0e-8f6a-0d6c2b1b7a11": watch}
        return json.dumps({"watching": watches, "settings": {}}, indent=4).encode()

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return (
            head.lstrip().startswith(b"{")
            and b'"watching"' in head
            and (b'"settings"' in head or b'"last_checked"' in head)
        )

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        yield from tables(_rows(_watches(stream, source), source))


def _watches(stream: IO[bytes], source: Source) -> dict[str, Any]:
    body = bytearray()
    while len(body) <= _MAX_BYTES and (piece := stream.read(1 << 20)):
        body += piece
    try:
        if len(body) > _MAX_BYTES:
            raise ValueError(f"it is longer than {_MAX_BYTES:,} bytes")
        watches = json.loads(body)["watching"]
        return dict(watches)
    except MALFORMED as error:
        raise BadInput(
            f"The file {source.filename!r} is not a whole url-watches.json: {error}. Copy it again."
        ) from error


def _rows(watches: dict[str, Any], source: Source) -> Iterator[Row]:
    folder = Path(source.filename).parent
    for uuid, watch in watches.items():
        try:
            history = _history(folder / uuid) if _UUID.fullmatch(uuid) else []
            records = _records(watch, history)
        except (*MALFORMED, OSError) as error:
            source.reject(f"watch {uuid[:40]}", reason(error), repr(watch))
            continue
        for record in records:
            try:
                yield check_ranges(row_of(record))
            except MALFORMED as error:
                source.reject(f"watch {uuid[:40]}", reason(error), repr(record)[:2000])


def _records(watch: dict[str, Any], history: list[tuple[int, Path]]) -> Iterator[dict[str, Any]]:
    """The snapshots of a watch, each a change but the first; then its last check."""
    url, checked = watch["url"], watch.get("last_checked") or None
    last = history[-1][0] if history else 0
    return _visits(url, history, checked if (checked or 0) > last else None, watch)


def _visits(
    url: str, history: list[tuple[int, Path]], checked: float | None, watch: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    if not history and checked is None:
        yield {"url": url}
    for i, (at, file) in enumerate(history):
        record = {"url": url, "at": at, "status": 200, "text": _snapshot(file)}
        yield record | ({"changed": True} if i else {})
    if checked is not None:
        has_failed = bool(watch.get("last_error"))
        same = {"status": 200, "changed": False} if history else {"status": 200}
        yield {"url": url, "at": checked} | ({"status": 0} if has_failed else same)


def _history(folder: Path) -> list[tuple[int, Path]]:
    """Time and file of each snapshot, oldest first; the files are in the folder itself."""
    index = folder / "history.txt"
    if not _is_inside(index, folder) or index.stat().st_size > _MAX_HISTORY_BYTES:
        return []
    snapshots = []
    for line in index.read_text(encoding="utf-8", errors="replace").splitlines():
        at, comma, name = line.strip().partition(",")
        if comma and at.isascii() and at.isdigit():
            snapshots.append((int(at), folder / Path(name).name))
    return sorted(snapshots, key=lambda each: each[0])


def _snapshot(file: Path) -> str | None:
    """The text of a snapshot; None if it is packed with Brotli, missing or too long."""
    try:
        is_readable = file.suffix == ".txt" and _is_inside(file, file.parent)
        if not is_readable or file.stat().st_size > _MAX_TEXT_BYTES:
            return None
        return file.read_bytes().decode("utf-8", "replace")
    except OSError:  # its name is too long, or it may not be read
        return None


def _is_inside(file: Path, folder: Path) -> bool:
    """Whether it is a file of the folder itself, not a link to one elsewhere."""
    return file.is_file() and file.resolve().parent == folder.resolve()
