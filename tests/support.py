"""Helpers that other processes of a test import."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recrawl.errors import StoreBusy
from recrawl.history import Store, schema
from recrawl.lab.trace import read_trace
from recrawl.model import DAY
from recrawl.search.workload import Workload, build_workload

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from recrawl.lab.trace import Trace

#: Makes a store one of the first version.
DOWNGRADE = """
ALTER TABLE visits DROP COLUMN skipped; ALTER TABLE visits DROP COLUMN problem;
ALTER TABLE pages DROP COLUMN failure; ALTER TABLE pages DROP COLUMN retries;
ALTER TABLE pages DROP COLUMN returns; DROP TABLE moved;
UPDATE meta SET value = '1' WHERE key = 'recrawl schema'
"""
BATCH = 300


def batch(number: int) -> pa.Table:
    at = np.full(BATCH, number * 1_000_000 + 1_700_000_000_000_000)
    return pa.table(
        {
            "url": [f"https://h{i % 7}.example/{i}" for i in range(BATCH)],
            "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
            "digest": pa.array(np.arange(BATCH) // (number % 5 + 1), pa.uint64()),
            "digest_of": ["text"] * BATCH,
            "text": [f"page {i} version {number}" for i in range(BATCH)],
            "links": [[f"https://h{i % 7}.example/{i + number}"] for i in range(BATCH)],
        }
    )


def write(path: str, first: int, pipe) -> None:
    with Store.open(path) as store:
        for number in range(first, first + 10_000):
            store.append(batch(number))
            pipe.send_bytes(number.to_bytes(4))


def hold(path: str, ready, done) -> None:
    """Hold the right to write until `done` is set."""
    with Store.open(path) as store:
        store.append(batch(0))
        ready.set()
        done.wait(60)


def create_and_append(folder: str, rounds: int, process: int, barrier, results) -> None:
    """In each round, create a store at once with other processes, and append to it.

    All but the first process stop after they saw that there is no store: longer in each round, so
    that the first has done nothing, something or everything by then. Reports how many visits were
    acknowledged.
    """
    create = schema.create

    def create_late(path: Path, detector: str) -> None:
        time.sleep(0.25 * number * (process > 0))
        create(path, detector)

    schema.create = create_late
    visits = batch(process).slice(0, 10).select(["url", "at", "digest", "digest_of"])
    for number in range(rounds):
        barrier.wait(60)
        while True:
            try:
                with Store.open(f"{folder}/{number}", create=True) as store:
                    added = store.append(visits).added
                break
            except StoreBusy:
                time.sleep(0.1)  # each try reads the file, and the writer waits for readers
        results.put((number, added))


def write_trace(folder: Path, rows: list[tuple[str, float, int, str, list[str]]]) -> Path:
    """A trace of (url, day, status, text, links) over the ten days from 2026-01-01."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = sorted(rows, key=lambda row: row[:2])
    url, day, status, text, links = zip(*rows, strict=True)
    at = np.array([1_767_225_600_000 + round(each * 86_400_000) for each in day])
    table = pa.table(
        {
            "url": url,
            "valid_from": pa.array(at).cast(pa.timestamp("ms", tz="UTC")),
            "status": pa.array(status, pa.int16()),
            "text": text,
            "links": pa.array(links, pa.list_(pa.string())),
        }
    )
    pq.write_table(table, folder / "versions.parquet")
    (folder / "README.md").write_text("Window: 2026-01-01 .. 2026-01-11\n")
    return folder


def daily_trace(folder: Path, texts: dict[str, list[str]]) -> Trace:
    """A trace of pages whose text on each day since 1970-01-01 is given."""
    rows = [(url, day, text) for url in sorted(texts) for day, text in enumerate(texts[url])]
    url, day, text = zip(*rows, strict=True)
    table = {
        "url": url,
        "valid_from": pa.array([d * 86_400 for d in day], pa.timestamp("s", tz="UTC")),
        "status": [200] * len(rows),
        "text": text,
        "links": pa.array([[]] * len(rows), pa.list_(pa.string())),
    }
    folder.mkdir()
    pq.write_table(pa.table(table), folder / "versions.parquet")
    return read_trace(folder, window=(0.0, (len(texts[url[0]]) - 1) * DAY))


class GivenScores:
    """A policy with the scores given."""

    name = "given"

    def __init__(self, score):
        self.scores = np.asarray(score, float)

    def score(self, pages, now):
        return self.scores

    def learn(self, history, pages, now):
        pass


def make_workload() -> Workload:
    """Queries that do not tell versions apart: some versions share a digest."""
    return build_workload(
        ["version", *(f"page {i}" for i in range(BATCH - 99, BATCH))], np.ones(100)
    )


def index_pages(path: str, pipe) -> None:
    """Add visits and index them, over and over; report each update that begins."""
    from recrawl.search.index import SearchIndex

    with Store.open(path) as store:
        index = SearchIndex(store)
        impact = index.impact(make_workload())
        index.update(impact)
        for number in range(store.summary().visits // BATCH, 10_000):
            store.append(batch(number))
            pipe.send_bytes(b"begun")
            index.update(impact)


def command(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `recrawl` as in a process of its own, without the second it takes to start one."""
    from recrawl.cli import main

    out, err, code = StringIO(), StringIO(), 0
    words = ["recrawl", *map(str, arguments)]
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.object(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode()))),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def table_cells(lines: Iterable[str]) -> dict[str, list[str]]:
    """The cells of each row of a Markdown table, by the first cell of the row."""
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return {first: rest for first, *rest in rows}


def add_undated(days, page, begin, end, rate, events):
    """Add visits to the days of groups; no stamp says when in its interval a change happened."""
    days.add_visits(page, (begin, end), (begin, end), rate, events, end - begin)


def add_undated_past(history, page, end, days, size, events):
    """Add visits to the past of pages; no stamp says when in its interval a change happened."""
    history.add_visits(page, end, days, size, events, (end - days, end))
