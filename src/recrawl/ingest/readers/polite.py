"""The PoliteCrawling histories of Microsoft."""

from __future__ import annotations

import json
import mmap
import re
from array import array
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.ingest.lines import LineReader
from recrawl.ingest.sniff import matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

_LINE = re.compile(r"\d+\t[\d.]+\t\[")
_URL_FILE = "url_urlid_hostid.txt"
_DAY_ZERO = 946_684_800_000_000  # 2000-01-01; the data set does not say from when days count
_DAY_MICROS = 86_400_000_000


class Polite(LineReader):
    """The PoliteCrawling histories: `id TAB first day TAB [[days since, changed], …]` in each line.

    Days count from 2000-01-01. URLs are those in `url_urlid_hostid.txt` in the same folder, or are
    made from the id. The data set has no page that never changed: rates from it are too high.
    """

    name: ClassVar[str] = "polite"

    def example(self) -> bytes:
        return b"17\t0.5\t[[1.0, 0], [2.5, 1]]\n"

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return matches(head, _LINE)

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        self._urls = _UrlsById(Path(source.filename).with_name(_URL_FILE))
        yield from super().read(stream, source)

    def rows(self, line: str) -> list[Row]:
        number, first, history = line.split("\t")
        url, day = self._urls.url(int(number)), float(first)
        rows: list[Row] = [{"url": url, "at": _micros(day)}]
        for gap, changed in json.loads(history):
            if changed not in (0, 1):
                raise ValueError(f"Changed is neither 0 nor 1: {changed!r}.")
            day += gap
            rows.append({"url": url, "at": _micros(day), "reported": bool(changed)})
        return rows


def _micros(day: float) -> int:
    return _DAY_ZERO + round(day * _DAY_MICROS)


class _UrlsById:
    """URLs by id, from a file of many millions. Only the start of each line is in memory."""

    def __init__(self, path: Path) -> None:
        self._file: mmap.mmap | None = None
        if not path.is_file() or not path.stat().st_size:
            return
        with path.open("rb") as file:
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        ids, starts = array("q"), array("q")
        start = 0
        for line in iter(self._file.readline, b""):
            fields = line.split()
            if len(fields) > 1 and fields[1].isdigit() and len(fields[1]) < 19:
                ids.append(int(fields[1]))
                starts.append(start)
            start += len(line)
        order = np.argsort(np.asarray(ids), kind="stable")
        self._ids, self._starts = np.asarray(ids)[order], np.asarray(starts)[order]

    def url(self, number: int) -> str:
        if self._file is not None:
            place = int(np.searchsorted(self._ids, number))
            if place < len(self._ids) and self._ids[place] == number:
                self._file.seek(int(self._starts[place]))
                return self._file.readline().split(None, 1)[0].decode()
        return f"http://urlid-{number}.invalid/"
