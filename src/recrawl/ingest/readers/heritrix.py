"""The crawl.log of Heritrix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from recrawl.ingest.foreign_values import foreign_digest, is_web, stamp_micros
from recrawl.ingest.lines import LineReader
from recrawl.ingest.sniff import matches
from recrawl.page.times import micros

if TYPE_CHECKING:
    from recrawl.page.visit_rows import Row

_LINE = re.compile(r"\d{4}-\d\d-\d\dT\S+Z\s+-?\d+\s+(?:\d+|-)\s+\w+:\S*\s+\S+\s+\S+\s+\S+\s+#\S+\s")
_N_FIELDS = 12
#: Negative codes of failed fetches; with the others there was no fetch (robots.txt, scope, …).
_FAILED_FETCHES = {-1, -2, -3, -4, -5, -6, -8, -404, -3000}


class Heritrix(LineReader):
    """The crawl.log of Heritrix: one line for each fetch.

    A fetch without an answer has status 0. URIs that were not fetched are left out.
    """

    name: ClassVar[str] = "heritrix"

    def example(self) -> bytes:
        return (
            b"2026-01-31T12:00:01.123Z   200       1043 https://example.org/ - - text/html #001 "
            b"20260131120000123+85 sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - -\n"
        )

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return matches(head, _LINE)

    def rows(self, line: str) -> list[Row]:
        fields = line.split(None, _N_FIELDS - 1)
        if len(fields) != _N_FIELDS:
            raise ValueError(f"{len(fields)} fields instead of {_N_FIELDS}.")
        logged, code, size, url, *_, start, digest, _tag, annotations = fields
        status = int(code)
        if not is_web(url) or (status <= 0 and status not in _FAILED_FETCHES):
            return []
        began, _, milliseconds = start.partition("+")
        row: Row = {
            "url": url,
            "at": micros(logged) if began == "-" else stamp_micros(began),
            "status": min(max(status, 0), 1000),
            "seconds": int(milliseconds) / 1000 if milliseconds else None,
            "bytes": int(size) if size.isdigit() else None,
        }
        if "duplicate:" in annotations:
            row["reported"] = False
        if digest != "-" and status > 0:
            row |= {"digest": foreign_digest(digest), "digest_of": "payload"}
        return [row]
