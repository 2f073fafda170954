"""Ingest: crawl files into a store."""

from __future__ import annotations

import gzip
import json
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fastwarc.warc import ArchiveIterator, WarcRecordType
from selectolax.lexbor import LexborHTMLParser

from benchmarks.content import page
from benchmarks.harness import Figure, ratio, seconds
from recrawl.history import Store
from recrawl.ingest import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = 1_790_000_000.0
PAGES, LINES = 3_000, 1_000_000


def write_warc(path: Path, *, pack: bool) -> None:
    draw = random.Random(1)
    with path.open("wb") as file:
        for i in range(PAGES):
            http = (
                b'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nETag: "x"\r\n\r\n'
                + page(draw.randint(20_000, 60_000), 80, i)
            )
            head = (
                "WARC/1.0\r\nWARC-Type: response\r\n"
                f"WARC-Target-URI: https://site{i % 50}.example.org/{i}.html\r\n"
                "WARC-Date: 2026-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
                "Content-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(http)}\r\n\r\n"
            )
            record = head.encode() + http + b"\r\n\r\n"
            file.write(gzip.compress(record, 6) if pack else record)


def bare(path: Path) -> int:
    links = 0
    with path.open("rb") as file:
        for record in ArchiveIterator(file, record_types=WarcRecordType.response):
            tree = LexborHTMLParser(record.reader.read())
            if tree.body:
                tree.body.text(separator=" ", strip=True)
            links += sum(1 for a in tree.css("a[href]") if a.attributes.get("href"))
    return links


def write_lines(path: Path, rows: int) -> None:
    with path.open("w") as file:
        for i in range(rows):
            url = f"https://site{i % 997}.example.org/page/{i % 50_000}"
            row = {"url": url, "at": f"2026-01-02T03:{i // 60 % 60:02}:{i % 60:02}Z", "status": 200}
            file.write(json.dumps(row | {"digest": f"sha1:{i % 70_001:x}"}) + "\n")


def write_csv(source: Path, path: Path) -> None:
    with source.open() as rows, path.open("w") as file:
        file.write("url,at,status,digest\n")
        for row in map(json.loads, rows):
            file.write(f"{row['url']},{row['at']},{row['status']},{row['digest']}\n")


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in (folder / "pages.warc", folder / "pages.warc.gz"):
            write_warc(file, pack=file.suffix == ".gz")
            took, share = ratio(lambda: ingested(file, folder), lambda: bare(file), rounds=3)  # noqa: B023
            yield Figure(
                f"{PAGES:,} pages of 20-60 KB from {file.name} into a store",
                f"{PAGES / took:,.0f} pages/s, {share:.2f} × a bare fastwarc + selectolax loop",
                "0.5 ×",
            )
        lines = folder / "visits.jsonl"
        write_lines(lines, LINES)
        write_csv(lines, folder / "visits.csv")
        for file in (lines, folder / "visits.csv"):
            took = seconds(lambda: ingested(file, folder), rounds=1)  # noqa: B023
            yield Figure(
                f"{LINES:,} lines of {file.name} into a store", f"{LINES / took:,.0f} lines/s"
            )


def ingested(file: Path, folder: Path) -> None:
    """Into a new store each time."""
    with tempfile.TemporaryDirectory(dir=folder) as fresh, Store.open(fresh, create=True) as store:
        ingest(store, [file], now=NOW)
