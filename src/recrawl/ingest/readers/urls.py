"""Plain lists of URLs: one in each line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from recrawl.ingest.lines import LineReader
from recrawl.ingest.sniff import first_lines

if TYPE_CHECKING:
    from recrawl.page.visit_rows import Row

_URL = re.compile(r"https?://\S+\s*", re.IGNORECASE)


class UrlList(LineReader):
    """Lists of URLs, one in each line; # begins a comment. They are pages that were not visited."""

    name: ClassVar[str] = "urls"
    is_last_resort: ClassVar[bool] = True  #: any other reader that accepts a file comes first

    def example(self) -> bytes:
        return b"# pages to visit\nhttps://example.org/\n"

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        lines = [line.strip() for line in first_lines(head)]
        named = [line for line in lines if line and not line.startswith("#")]
        return bool(named) and all(_URL.fullmatch(line) for line in named)

    def rows(self, line: str) -> list[Row]:
        text = line.strip()
        return [] if text.startswith("#") else [{"url": text}]
