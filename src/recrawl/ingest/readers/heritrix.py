"""The crawl.log of Heritrix."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, ClassVar

from recrawl.ingest.batches import tables
from recrawl.ingest.foreign_values import foreign_digest, is_web, stamp_micros
from recrawl.ingest.lines import lines, parsed
from recrawl.ingest.sniff import matches
from recrawl.page.times import micros

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

_LINE = re.compile(r"\d{4}-\d\d-\d\dT\S+Z\s+-?\d+\s+(?:\d+|-)\s+\w+:\S*\s+\S+\s+\S+\s+\S+\s+#\S+\s")
_FIELDS = 12
#: Codes below zero that stand for an attempt: the others were kept from one (robots, scope, …).
_TRIED = {-1, -2, -3, -4, -5, -6, -8, -404, -3000}


class Heritrix:
    """The crawl.log of Heritrix: one line a fetch.

    A fetch that got no answer has status 0. URIs that were never tried are left out.
    """

    name: ClassVar[str] = "heritrix"

    def example(self) -> bytes:
        return (
            b"2026-01-31T12:00:01.123Z   200       1043 https://example.org/ - - text/html #001 "
            b"20260131120000123+85 sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - -\n"
        )

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return matches(head, _LINE)

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        yield from tables(parsed(lines(stream, source), _fetch, source))


def _fetch(line: str) -> list[Row]:
    fields = line.split(None, _FIELDS - 1)
    if len(fields) != _FIELDS:
        raise ValueError(f"{len(fields)} fields instead of {_FIELDS}.")
    logged, code, size, url, *_, start, digest, _tag, notes = fields
    status = int(code)
    if not is_web(url) or (status <= 0 and status not in _TRIED):
        return []
    began, _, took = start.partition("+")
    row: Row = {
        "url": url,
        "at": micros(logged) if began == "-" else stamp_micros(began),
        "status": min(max(status, 0), 1000),
        "seconds": int(took) / 1000 if took else None,
        "bytes": int(size) if size.isdigit() else None,
    }
    if "duplicate:" in notes:
        row["reported"] = False
    if digest != "-" and status > 0:
        row |= {"digest": foreign_digest(digest), "digest_of": "payload"}
    return [row]
