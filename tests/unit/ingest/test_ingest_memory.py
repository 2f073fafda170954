"""Memory while files are read: bounded in bytes, whatever they hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingest_files import http, ingest_files, url, warc_record

from recrawl.ingest import batches
from recrawl.page import parse
from recrawl.page.links import MAX_LINK_BYTES
from recrawl.urls import MAX_URL_LENGTH

LONG_BASE = "http://a.example/" + "b" * (MAX_URL_LENGTH - 100) + "/"
OVERLONG_BASE = "http://a.example/" + "b" * 8000 + "/"
PEAK = """
import sys
import recrawl

class Store:
    def append(self, visits, *, now=None):
        class counts:
            added, known, pages, flips = len(visits), 0, 0, 0
        return counts

report = recrawl.ingest(Store(), [sys.argv[1]], now=1.79e9)
print(report.added, int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024)
"""


def links_page(base: str) -> bytes:
    links = "".join(f"<a href={i}>" for i in range(10_000))
    return f"<base href={base}>{links}<a href=/rooted><a href=http://b.example/>".encode()


def test_the_links_of_a_page_are_bounded_in_bytes():
    content = parse(links_page(LONG_BASE), url="http://a.example/", content_type="text/html")
    assert 500 < len(content.links) < 10_000
    size = sum(map(len, content.links))
    assert MAX_LINK_BYTES <= size < MAX_LINK_BYTES + 500 * MAX_URL_LENGTH
    assert content.links[:2] == [LONG_BASE + "0", LONG_BASE + "1"]


def test_a_base_that_is_too_long_leaves_the_links_that_do_not_need_it():
    content = parse(links_page(OVERLONG_BASE), url="http://a.example/", content_type="text/html")
    assert content.links == ["http://a.example/rooted", "http://b.example/"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "warc"])
def test_tables_are_bounded_by_the_bytes_of_their_links(kind, tmp_path, monkeypatch):
    sizes = []
    table_of = batches.visit_table
    monkeypatch.setattr(batches, "visit_table", lambda r: sizes.append(table_of(r)) or sizes[-1])
    rows = [{"url": f"{LONG_BASE}{i}", "at": 1, "links": ["c"] * 300} for i in range(30)]
    if kind == "jsonl":
        (tmp_path / "a").write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a")
    else:
        page = http(b"".join(b"<a href=%d>" % i for i in range(300)))
        (tmp_path / "a").write_bytes(b"".join(warc_record(row["url"], page) for row in rows))
    run = ingest_files(tmp_path / "a")
    assert run.report.added == 30
    assert sum(len(row["links"]) for row in run.rows) > 8900
    assert len(sizes) > 10
    assert max(table.nbytes for table in sizes) < 2 << 20


def test_long_urls_repeated_by_one_line_make_small_tables(tmp_path, monkeypatch):
    (tmp_path / "url_urlid_hostid.txt").write_text(f"{LONG_BASE}\t0\t0\n")
    (tmp_path / "a").write_text(f"0\t0.5\t{[[1, 0]] * 4000}\n")
    sizes = []
    table_of = batches.visit_table
    monkeypatch.setattr(batches, "visit_table", lambda r: sizes.append(table_of(r)) or sizes[-1])
    assert ingest_files(tmp_path / "a").report.added == 4001
    assert max(table.nbytes for table in sizes) < 2 << 20


def test_a_page_with_a_url_too_long_to_keep_is_rejected(tmp_path):
    good = "http://a.example/" + "b" * (MAX_URL_LENGTH - len("http://a.example/"))
    rows = [{"url": good, "at": 1}, {"url": good + "b", "at": 1}, {"url": url(1), "at": 1}]
    (tmp_path / "a").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = ingest_files(tmp_path / "a")
    assert run.store.urls() == [good, url(1)]
    assert run.reasons == [f"The URL has more than {MAX_URL_LENGTH} characters."]


@pytest.mark.slow
def test_the_peak_of_memory_does_not_follow_the_size_of_the_file(tmp_path):
    text = " ".join(f"w{i:x}" for i in range(100_000)).encode()  # 600 KB
    peaks = []
    for n in (10, 400):
        with (tmp_path / "a.warc").open("wb") as file:
            for i in range(n):
                file.write(warc_record(url(i), http(b"%d %s" % (i, text))))
        done = subprocess.run(
            [sys.executable, "-c", PEAK, tmp_path / "a.warc"],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parent,
        )
        added, peak = map(int, done.stdout.split())
        assert added == n
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 300  # MiB; the file has 240
    assert peaks[1] < 800
