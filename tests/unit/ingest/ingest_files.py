"""One small file of each format, and a store that keeps visits in memory."""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recrawl.ingest import IngestReport, ingest

NOW = 1_790_000_000.0  # 2026-09-21
ROWS = 40


@dataclass
class Counts:
    added: int
    known: int = 0
    pages: int = 0
    flips: int = 0


class MemoryStore:
    """A store that keeps the tables it is given."""

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []

    def append(self, visits: pa.Table, *, now: float | None = None) -> Counts:
        visits.validate(full=True)
        self.tables.append(visits)
        return Counts(len(visits), pages=visits["url"].combine_chunks().unique().__len__())

    def rows(self) -> list[dict[str, Any]]:
        return [row for table in self.tables for row in table.to_pylist()]

    def urls(self) -> list[str]:
        return [row["url"] for row in self.rows()]


@dataclass
class Run:
    """The results of one call of `ingest`."""

    report: IngestReport
    store: MemoryStore
    rejects: list[dict[str, str]]

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.store.rows()

    @property
    def reasons(self) -> list[str]:
        return [reject["reason"] for reject in self.rejects]


def ingest_files(*files: Any, now: float = NOW, **options: Any) -> Run:
    store, sink = MemoryStore(), io.StringIO()
    report = ingest(store, files, now=now, rejects=sink, **options)
    rejects = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert report.rejected == len(rejects)
    assert report.added == len(store.rows())
    return Run(report, store, rejects)


def url(i: int) -> str:
    return f"http://a{i % 3}.example.org/page/{i}"


def warc_record(
    target: str,
    block: bytes,
    *,
    kind: str = "response",
    date: str = "2026-01-02T03:04:05.250000Z",
    extra: str = "",
) -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {target}\r\nWARC-Date: {date}\r\n"
        f"WARC-Record-ID: <urn:uuid:0>\r\n{extra}"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def http(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{headers}\r\n".encode() + body


def html(i: int) -> bytes:
    return f"<title>T{i}</title><p>Words of page {i}</p><a href='/next/{i}'>on</a>".encode()


def warc(n: int = ROWS) -> bytes:
    return b"".join(warc_record(url(i), http(html(i))) for i in range(n))


def warc_gz(n: int = ROWS) -> bytes:
    return b"".join(gzip.compress(warc_record(url(i), http(html(i)))) for i in range(n))


def jsonl(n: int = ROWS) -> bytes:
    rows = [
        {"url": url(i), "at": f"2026-01-02T03:04:{i % 60:02}Z", "status": 200} for i in range(n)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def csv_file(n: int = ROWS) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["url", "at", "status", "title"])
    for i in range(n):
        writer.writerow([url(i), 1_767_323_045 + i, 200, f'a "title", {i}'])
    return out.getvalue().encode()


def parquet(n: int = ROWS) -> bytes:
    out = io.BytesIO()
    table = pa.table({"url": [url(i) for i in range(n)], "at": [1_767_323_045.5] * n})
    pq.write_table(table, out)
    return out.getvalue()


def cdx(n: int = ROWS) -> bytes:
    lines = [" CDX N b a m s k r M S V g"]
    lines += [
        f"org,example)/{i} 20260102030405 {url(i)} text/html 200 SHA{i} - - 100 {i} a.warc.gz"
        for i in range(n)
    ]
    return ("\n".join(lines) + "\n").encode()


def cdxj(n: int = ROWS) -> bytes:
    fact = {"mime": "text/html", "status": "200", "digest": "sha1:ABC", "length": "9"}
    lines = [
        f"org,example)/{i} 20260102030405 {json.dumps({'url': url(i), **fact})}" for i in range(n)
    ]
    return ("\n".join(lines) + "\n").encode()


def heritrix(n: int = ROWS) -> bytes:
    line = (
        "2026-01-02T03:04:09.123Z   200       4321 {} LLE http://ref.example/ text/html #012 "
        "20260102030405250+1500 sha1:ABCDEF - -\n"
    )
    return "".join(line.format(url(i)) for i in range(n)).encode()


def nutch(n: int = ROWS) -> bytes:
    rows = [
        {
            "url": url(i),
            "statusCode": 2,
            "statusName": "db_fetched",
            "fetchTime": 1_767_323_045_000,
            "modifiedTime": 0,
            "retryIntervalSeconds": 86_400,
            "signature": "aabb",
        }
        for i in range(n)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def urlfrontier(n: int = ROWS) -> bytes:
    facts = {"lastProcessedDate": {"values": ["2026-01-02T03:04:05Z"]}}
    rows = [
        {"known": {"info": {"url": url(i), "key": "k", "metadata": facts}}, "creationDate": "1"}
        for i in range(n)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def polite(n: int = ROWS) -> bytes:
    return "".join(f"{i}\t0.5\t[[1.0, 0], [2.5, 1]]\n" for i in range(n)).encode()


def cdx_server(n: int = ROWS) -> bytes:
    line = "org,example)/{} 20260102030405 {} text/html 200 SHA{} 1043\n"
    return "".join(line.format(i, url(i), i) for i in range(n)).encode()


def cdx_server_json(n: int = ROWS) -> bytes:
    names = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
    rows = [["k", "20260102030405", url(i), "text/html", "200", f"SHA{i}", "9"] for i in range(n)]
    return ("[" + ",\n".join(map(json.dumps, [names, *rows])) + "]\n").encode()


def url_list(n: int = ROWS) -> bytes:
    return "".join(f"{url(i)}\n" for i in range(n)).encode()


FORMATS = {
    "warc": warc(),
    "jsonl": jsonl(),
    "csv": csv_file(),
    "parquet": parquet(),
    "cdx": cdx(),
    "heritrix": heritrix(),
    "nutch": nutch(),
    "urlfrontier": urlfrontier(),
    "polite": polite(),
    "cdx-server": cdx_server(),
    "urls": url_list(),
}
#: Other files of these formats → their format.
VARIANTS = {"warc.gz": "warc", "cdxj": "cdx", "cdx-server-json": "cdx-server"}
EVERY = {**FORMATS, "warc.gz": warc_gz(), "cdxj": cdxj(), "cdx-server-json": cdx_server_json()}
