"""Reads GP4C's bit strings as a trace: a line for each page, and for each day 0, 1 or ?."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput
from recrawl.lab.imputation import impute
from recrawl.lab.links import LinkTable
from recrawl.lab.trace import Trace, trace_name
from recrawl.lab.worlds.world import START
from recrawl.model import DAY

if TYPE_CHECKING:
    from recrawl.model import BoolArray, Time


def read_bits(path: str | Path, *, start: Time = START) -> Trace:
    """The trace of a file of bit strings, or of a folder with bits.txt.

    Bit strings have no dates: day 0 begins at `start`. A 1 on day d, counted from 1, is a version
    valid from midnight d. All versions differ, so a page changed if there was any 1 since the last
    visit. A ? is a day whose visit failed; it becomes 0 or 1 by the page's days before.
    """
    path = Path(path)
    bits = _matrix(path / "bits.txt" if path.is_dir() else path)
    pages, days = bits.shape
    # A column of ones in front: every page exists from day 0.
    versions = np.flatnonzero(np.column_stack([np.ones(pages, np.bool_), bits]))
    page, day = np.divmod(versions, days + 1)
    return Trace(
        name=trace_name(path),
        urls=page_urls(pages),
        start=np.searchsorted(page, np.arange(pages + 1)),
        valid_from=start + day * DAY,
        status=np.full(len(page), 200, np.int16),
        content=np.arange(len(page), dtype=np.uint64),
        links=LinkTable.none(len(page)),
        window=(start, start + days * DAY),
    )


def is_bits(path: Path) -> bool:
    """Whether a path is a file of bit strings or a folder with one."""
    if path.is_dir():
        return (path / "bits.txt").is_file()
    with suppress(OSError), path.open("rb") as file:
        return file.read(1) in (b"0", b"1", b"?")
    return False


def page_urls(pages: int) -> list[str]:
    """URLs for pages without one: the number of the line, padded so that they sort like lines.

    >>> page_urls(10)[:2]
    ['http://page-01.invalid/', 'http://page-02.invalid/']
    """
    width = len(str(pages))
    return [f"http://page-{line:0{width}}.invalid/" for line in range(1, pages + 1)]


def _matrix(file: Path) -> BoolArray:
    if not file.is_file():
        raise BadInput(
            f"Bit strings must be a file, or a folder with bits.txt. Got {file}; check the path."
        )
    data = file.read_bytes().replace(b"\r", b"").rstrip(b"\n")
    days = len(data.partition(b"\n")[0])
    if not days:
        raise BadInput(f"{file} must begin with a line of 0s and 1s. It begins with none.")
    cells = np.frombuffer(data + b"\n", np.uint8)
    if len(cells) % (days + 1) == 0:
        lines = cells.reshape(-1, days + 1)
        bits, failed = lines[:, :-1] == ord("1"), lines[:, :-1] == ord("?")
        is_day = bits | failed | (lines[:, :-1] == ord("0"))
        if (lines[:, -1] == ord("\n")).all() and is_day.all():
            return impute(bits, failed) if failed.any() else bits
    raise BadInput(_fault(file, data, days))


def _fault(file: Path, data: bytes, days: int) -> str:
    """The error text for the first invalid line."""
    for number, line in enumerate(data.split(b"\n"), 1):
        if other := line.translate(None, b"01?"):
            return (
                f"{file}, line {number}: a day must be 0, 1, or ? if its visit failed. "
                f"Got {chr(other[0])!r}; write one character a day without separators."
            )
        if len(line) != days:
            return (
                f"{file}, line {number}: every line must have as many days as the first, {days}. "
                f"Got {len(line)}; cut or drop that line."
            )
    raise AssertionError(file)  # only called when a line is invalid
