"""The contract of a reader: it recognises its own format and reads damaged files too."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from recrawl import registry
from recrawl.checks.every import require
from recrawl.errors import BadInput
from recrawl.model import VISITS

if TYPE_CHECKING:
    import pyarrow as pa

    from recrawl.protocols import Reader

NOW = 1_800_000_000.0


class SampleFile:
    """A source that lists the rejected records."""

    filename = "example"
    now = NOW

    def __init__(self) -> None:
        self.rejected: list[str] = []

    def reject(self, where: str, reason: str, record: str | bytes = "") -> None:  # noqa: ARG002
        self.rejected.append(f"{where}: {reason}")


def _read(reader: Reader, body: bytes) -> tuple[list[pa.Table], list[str]]:
    source = SampleFile()
    return list(reader.read(io.BytesIO(body), source)), source.rejected


def check_accepts_its_own_example(reader: Reader) -> None:
    require(reader, "it accepts its own example", met=reader.accepts(reader.example(), "example"))


def check_rejects_other_formats(reader: Reader) -> None:
    others = [part() for part in registry.parts("reader").values() if part.name != reader.name]
    taken = [other.name for other in others if reader.accepts(other.example(), "example")]
    require(reader, f"it does not accept other formats; accepts {taken}", met=not taken)


def check_rejects_noise(reader: Reader) -> None:
    noise = np.random.default_rng(0).bytes(4096)
    for body in (noise, b"", b"\n" * 100, b"<html>hello</html>"):
        require(reader, f"it does not accept {body[:9]!r}…", met=not reader.accepts(body, "x"))


def check_reads_its_own_example(reader: Reader) -> None:
    tables, rejected = _read(reader, reader.example())
    require(reader, f"it reads its own example; rejected {rejected}", met=not rejected)
    n_visits = sum(len(table) for table in tables)
    require(reader, "its example holds a visit", met=n_visits > 0)
    right = all(table.schema.equals(VISITS) for table in tables)
    require(reader, "its tables have the schema VISITS", met=right)


def check_reads_a_file_cut_anywhere(reader: Reader) -> None:
    """It may raise BadInput or reject records, but nothing else."""
    body = reader.example()
    for end in range(0, len(body), max(len(body) // 50, 1)):
        try:
            _read(reader, body[:end])
        except (BadInput, OSError):  # OSError: the stream itself ends early
            continue


def check_repeats(reader: Reader) -> None:
    once, again = _read(reader, reader.example()), _read(reader, reader.example())
    same = once[1] == again[1] and all(a.equals(b) for a, b in zip(once[0], again[0], strict=True))
    require(reader, "read again, a file gives the same", met=same)
