"""Damaged files: what is kept, what is rejected, and why."""

from __future__ import annotations

import gzip
import io
import json
import os
import pathlib
import random
import sys
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest_files import (
    EVERY,
    FORMATS,
    NOW,
    VARIANTS,
    cdx,
    heritrix,
    html,
    http,
    ingest_files,
    jsonl,
    url,
    warc,
    warc_record,
)
from typer.testing import CliRunner

from recrawl import registry
from recrawl.cli import app
from recrawl.errors import BadInput
from recrawl.ingest import crawl_files, file_stream
from recrawl.urls import resolve_links

MAX_LOST = 6  # no format loses more than the record at the cut and what shares its line


def urls_of(name: str, path) -> list[str]:
    """The URLs in an undamaged file."""
    path.write_bytes(EVERY[name])
    return ingest_files(path).store.urls()


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_cut_file_keeps_the_records_before_the_cut(name, tmp_path):
    path = tmp_path / "cut"
    every, data = urls_of(name, path), EVERY[name]
    kept = -1
    for size in range(0, len(data), 53):
        path.write_bytes(data[:size])
        run = ingest_files(path, format=VARIANTS.get(name, name))
        urls = run.store.urls()
        assert urls[:-1] == every[: len(urls)][:-1]
        assert len(run.rejects) <= 1
        assert len(urls) >= kept
        kept = len(urls)
    assert name == "parquet" or kept >= len(every) - MAX_LOST


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("name", FORMATS)
def test_packed_files_cut_short(name, pack, tmp_path):
    path = tmp_path / "packed"
    every, data = urls_of(name, path), pack(EVERY[name])
    path.write_bytes(data)
    assert ingest_files(path).store.urls() == every
    for size in range(0, len(data), 97):
        path.write_bytes(data[:size])
        run = ingest_files(path, format=name)
        assert every[: len(run.rows)] == run.store.urls()
        assert len(run.rejects) == (size > 0), run.rejects
        assert size == 0 or "early" in run.reasons[0] or "damaged" in run.reasons[0]


def test_a_cut_gzip_loses_only_the_last_record(tmp_path):
    path = tmp_path / "a.gz"
    noise = random.Random(1)
    rows = [{"url": url(i), "at": 1e9, "title": noise.randbytes(60).hex()} for i in range(2000)]
    plain = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(plain)[:-60])
    run = ingest_files(path)
    assert 1980 <= len(run.rows) < 2000
    assert run.report.rejected == 1
    assert run.report.files[0].problem == "The gzip data end early."


def test_gzip_of_many_members(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(
        gzip.compress(jsonl(3)) + gzip.compress(b"") + gzip.compress(jsonl(2)) + b"\0\0"
    )
    assert len(ingest_files(path).rows) == 5
    path.write_bytes(zstandard.compress(jsonl(3)) + zstandard.compress(jsonl(2)))
    assert len(ingest_files(path).rows) == 5


@pytest.mark.parametrize("name", FORMATS)
def test_random_bytes_are_replaced(name, tmp_path):
    dice, path = random.Random(name), tmp_path / "damaged"
    for _ in range(30):
        data = bytearray(EVERY[name])
        for _ in range(5):
            data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(bytes(data))
        assert ingest_files(path, format=name).report.records <= 200


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.sampled_from([None, *FORMATS]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data, name):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    try:
        run = ingest_files(path, format=name)
    except BadInput:
        assert name is None
    else:
        assert run.report.records == len(run.rows) + len(run.rejects)


@pytest.mark.parametrize("name", FORMATS)
def test_random_bytes_are_refused_and_formats_listed(name, tmp_path):
    path = tmp_path / f"a.{name}"
    path.write_bytes(random.Random(5).randbytes(5000))
    with pytest.raises(BadInput, match=r"no known format.*Known: cdx, .*csv,.*--format"):
        ingest_files(path)


def test_the_content_decides_and_not_the_name(tmp_path):
    path = tmp_path / "a.warc.gz"
    path.write_bytes(jsonl(4))
    assert ingest_files(path).report.files[0].format == "jsonl"
    path = tmp_path / "crawl.log"
    path.write_bytes(cdx(4))
    assert ingest_files(path).report.files[0].format == "cdx"
    run = ingest_files(path, format="warc")
    assert (run.report.added, run.report.rejected) == (0, 1)


def test_nothing_is_stored_when_a_file_is_refused(tmp_path):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(jsonl(4))
    bad.write_bytes(b"what is this?")
    with pytest.raises(BadInput, match=r"'.*bad'"):
        ingest_files(good, bad)
    with pytest.raises(BadInput, match="FILE must be a file"):
        ingest_files(tmp_path / "absent")
    with pytest.raises(BadInput, match="No reader called 'jsnl'"):
        ingest_files(good, format="jsnl")


def test_an_ambiguous_file_is_refused(tmp_path, monkeypatch):
    class Other(registry.parts("reader")["jsonl"]):
        name = "other"

    parts = registry.parts("reader") | {"other": Other}
    monkeypatch.setattr(registry, "parts", lambda kind: parts)
    (tmp_path / "a").write_bytes(jsonl(2))
    with pytest.raises(BadInput, match=r"could be any of: jsonl, other\. Choose with --format"):
        ingest_files(tmp_path / "a")


def test_empty_files(tmp_path):
    for name, data in {"a": b"", "b": gzip.compress(b"")}.items():
        (tmp_path / name).write_bytes(data)
        run = ingest_files(tmp_path / name)
        assert (run.report.records, run.report.files[0].format) == (0, None)
        assert ingest_files(tmp_path / name, format="parquet").report.rejected == 0


def test_one_bad_line_loses_only_itself(tmp_path):
    lines = jsonl(3000).splitlines(keepends=True)
    lines[7] = b'{"url": "http://a.example/", "at": \n'
    lines[8] = b"[1]\n"
    lines[9] = b'{"url": "http://a.example/\xff", "at": 1}\n'
    lines[10] = b'{"url": "http://a.example/\\ud800", "at": 1}\n'
    lines[11] = b'{"url": 5, "at": 1}\n'
    lines[12] = b'{"at": 1}\n'
    lines[13] = b'{"url": "ftp://a.example/", "at": 1}\n'
    lines[14] = b'{"url": "http://a.example/", "at": 1, "status": 100000}\n'
    lines[15] = b'{"url": "http://a.example/", "at": 1, "bytes": 1.5}\n'
    lines[16] = b'{"url": "http://a.example/", "at": 1e300}\n'
    lines[17] = b"[" * 100_000 + b"\n"
    (tmp_path / "a").write_bytes(b"".join(lines))
    run = ingest_files(tmp_path / "a")
    assert (run.report.records, run.report.added, run.report.rejected) == (3000, 2989, 11)
    assert {reject["where"] for reject in run.rejects} >= {f"line {i}" for i in range(8, 14)}
    assert all(
        reject["file"].endswith("a") and len(reject["record"]) <= 1000 for reject in run.rejects
    )


@pytest.mark.parametrize("make", [jsonl, heritrix, cdx])
def test_a_line_of_ten_megabytes_is_rejected(make, tmp_path):
    head, tail = make(3), make(5).splitlines(keepends=True)[-1]
    long = b'{"url": "http://a.example/", "at": 1, "title": "' + b"x" * 10_000_000 + b'"}\n'
    (tmp_path / "a").write_bytes(head + long + tail)
    run = ingest_files(tmp_path / "a")
    assert len(run.rows) == 4
    assert run.reasons == ["The line is longer than 8388608 bytes."]
    (tmp_path / "a").write_bytes(long + head)
    assert len(ingest_files(tmp_path / "a", format=make.__name__).rows) == 3


def test_long_lines_that_are_allowed(tmp_path):
    long = b'{"url": "http://a.example/", "at": 1, "title": "' + b"x" * 3_000_000 + b'"}\n'
    (tmp_path / "a").write_bytes(long + jsonl(3) + long)
    assert len(ingest_files(tmp_path / "a").rows) == 5


def test_invalid_times_and_urls_are_rejected(tmp_path):
    rows = [
        {"url": "http://a.example/1", "at": -5},
        {"url": "http://a.example/2", "at": NOW + 2 * 86_400},
        {"url": "http://a.example/3", "at": NOW + 80_000},
        {"url": "no url", "at": 5},
        {"url": "http://a.example/5", "at": 5, "status": -3},
        {"url": "http://a.example/6", "at": 5, "status": 1000},
        {"url": "http://a.example/7", "at": 5, "last_modified": NOW * 2},
        {"url": "http://a.example/8"},
    ]
    (tmp_path / "a").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = ingest_files(tmp_path / "a")
    assert [u[-1] for u in run.store.urls()] == ["3", "7", "8"]
    assert [row["last_modified"] for row in run.rows] == [None] * 3
    for word in ("negative", "future", "0 and 999"):
        assert any(word in reason for reason in run.reasons)
    assert run.rejects[0]["where"] == "record 1"


@pytest.mark.parametrize(
    "kind",
    [pa.timestamp("ms"), pa.timestamp("us", tz="UTC"), pa.timestamp("ms", tz="No/Where"),
     pa.date32(), pa.duration("s")],
)  # fmt: skip
def test_a_date_that_python_cannot_hold_loses_only_its_record(kind, tmp_path):
    integers = pa.int32() if kind == pa.date32() else pa.int64()
    absurd = pa.array([2**31 - 1 if kind == pa.date32() else 2**62], integers).view(kind)
    at = pa.chunked_array([pa.array([0], integers).view(kind), absurd])
    links = [["/b"]] * 2  # such rows are read one by one
    table = pa.table({"url": ["http://a.example/"] * 2, "at": at, "links": links})
    pq.write_table(table, tmp_path / "a")
    run = ingest_files(tmp_path / "a")
    n_kept = int(kind in (pa.timestamp("ms"), pa.timestamp("us", tz="UTC"), pa.date32()))
    assert (run.report.added, run.report.rejected) == (n_kept, 2 - n_kept)
    assert run.rejects[-1]["where"] == "row group 0, row 2"


@pytest.mark.parametrize(
    "date", ["", " ", "never", "0001-01-01T00:00:00+23:59", "99999-01-01", "1e400", "9" * 5000]
)
def test_a_warc_record_without_a_proper_date_is_rejected(date, tmp_path):
    (tmp_path / "a").write_bytes(warc_record(url(1), http(html(1)), date=date) + warc(2))
    run = ingest_files(tmp_path / "a")
    assert (len(run.rows), run.report.rejected) == (2, 1)


@pytest.mark.parametrize("year", ["2026", "999999999"])
@pytest.mark.parametrize("zone", ["GMT", "-9999999999999"])
def test_an_absurd_last_modified_is_left_out(year, zone, tmp_path):
    date = f"Thu, 01 Jan {year} 00:00:00 {zone}"
    row = {"url": "http://a.example/", "at": 1_790_000_000, "last_modified": date}
    (tmp_path / "a").write_text(json.dumps(row))
    run = ingest_files(tmp_path / "a")
    assert (len(run.rows), run.report.rejected) == (1, 0)
    assert (run.rows[0]["last_modified"] is None) == ((year, zone) != ("2026", "GMT"))


def test_a_parquet_file_with_a_name_that_is_not_utf8_is_refused(tmp_path):
    out = io.BytesIO()
    pq.write_table(pa.table({"url": ["http://a.example/"], "at": [1], "zzzz": [1]}), out)
    (tmp_path / "a").write_bytes(out.getvalue().replace(b"zzzz", b"\xff\xfe\xfd\xfc"))
    run = ingest_files(tmp_path / "a")
    assert (run.rows, run.report.rejected) == ([], 1)
    assert "is not a whole Parquet file" in run.report.files[0].problem


@pytest.mark.parametrize("record", [
    {"url": "https://u:secret@a.example:99999/", "at": 1},
    {"url": "https://u:secret@a.example/", "at": "never"},
    {"url": "https://u:secret@a.example/", "at": -5},
    {"url": "https://" + "u" * 1500 + ":secret@a.example/", "at": "never"},
])  # fmt: skip
def test_passwords_are_neither_in_rejects_nor_in_messages(record, tmp_path):
    (tmp_path / "a").write_text(json.dumps(record) + "\n" + json.dumps(record)[:-1])
    run = ingest_files(tmp_path / "a")
    assert run.report.rejected == 2
    everything = repr(run.rejects) + repr(run.report.files)
    assert "secret" not in everything
    assert "a.example" in everything


def test_etags_that_cannot_be_sent_are_left_out(tmp_path):
    etags = ['"good"', "x" * 1024, "x" * 1025, "x" * 300_000, "a\0b", "a\nb", "\u00e9", "a\x7fb"]
    rows = [{"url": url(i), "at": 1, "etag": etag} for i, etag in enumerate(etags)]
    (tmp_path / "a").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = ingest_files(tmp_path / "a")
    assert [row["etag"] for row in run.rows] == [*etags[:2], *[None] * 6]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_small_packed_pieces_are_joined(pack, tmp_path):
    one = jsonl(1)
    (tmp_path / "a").write_bytes(pack(one) * 5000)
    with file_stream.open_stream(str(tmp_path / "a")) as stream:
        pieces = list(iter(lambda: stream.read(1 << 20), b""))
    assert b"".join(pieces) == one * 5000
    assert min(map(len, pieces[:-1])) >= 256 << 10


def test_wrong_columns_do_not_stop_the_other_files(tmp_path):
    pq.write_table(pa.table({"uri": ["x"], "at": [1]}), tmp_path / "wrong.parquet")
    (tmp_path / "wrong.csv").write_text("url,when\nhttp://a.example/,1\n")
    (tmp_path / "good").write_bytes(jsonl(2))
    run = ingest_files(tmp_path / "wrong.parquet", tmp_path / "wrong.csv", tmp_path / "good")
    assert (run.report.added, run.report.rejected) == (2, 2)
    first, second, third = run.report.files
    assert "no column 'url'. Found: uri, at." in first.problem
    assert "no column 'at'. Found: url, when." in second.problem
    assert (third.problem, third.added) == (None, 2)


def test_order_and_duplicates_are_kept(tmp_path):
    rows = [{"url": "HTTP://A.example", "at": t} for t in (30, 10, 10, 20)]
    (tmp_path / "a").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = ingest_files(tmp_path / "a")
    assert [row["at"].timestamp() for row in run.rows] == [30, 10, 10, 20]
    assert set(run.store.urls()) == {"http://a.example/"}


@pytest.mark.parametrize("data", [jsonl(3), gzip.compress(warc(3)), EVERY["parquet"], b""])
def test_standard_input(data, monkeypatch):
    class Pipe(io.RawIOBase):
        """Returns a few bytes at a time, and cannot seek."""

        left = data

        def readable(self):
            return True

        def readinto(self, buffer):
            piece, self.left = self.left[:7][: len(buffer)], self.left[7:]
            buffer[: len(piece)] = piece
            return len(piece)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe())))
    assert len(ingest_files("-").rows) == (0 if not data else 40 if data[:1] == b"P" else 3)


def record_calls(monkeypatch, owner, name):
    """A list that gets the first argument of each call of a function of a module or class."""
    calls, original = [], getattr(owner, name)

    def call(first, *rest, **named):
        calls.append(first)
        return original(first, *rest, **named)

    monkeypatch.setattr(owner, name, call)
    return calls


@pytest.mark.parametrize("command", [False, True])
def test_every_file_is_opened_and_recognised_once(command, tmp_path, monkeypatch):
    files = [tmp_path / name for name in ("a", "b.gz")]
    files[0].write_bytes(jsonl(4))
    files[1].write_bytes(gzip.compress(warc(4)))
    opens = record_calls(monkeypatch, pathlib.Path, "open")
    recognised = record_calls(monkeypatch, crawl_files, "reader_of")
    if command:
        main = ["ingest", str(tmp_path / "store.duckdb"), *map(str, files)]
        assert CliRunner().invoke(app, main).exit_code == 0
    else:
        assert len(ingest_files(*files).rows) == 8
    assert [path for path in opens if path in files] == files
    assert len(recognised) == len(files)


def test_more_files_than_may_be_open(tmp_path, monkeypatch):
    monkeypatch.setattr(crawl_files, "MAX_OPEN_FILES", 2)
    files = [tmp_path / str(i) for i in range(5)]
    for file in files:
        file.write_bytes(gzip.compress(jsonl(3)))
    recognised = record_calls(monkeypatch, crawl_files, "reader_of")
    seen = []
    run = ingest_files(*files, progress=lambda done, total: seen.append((done, total)))
    assert len(run.rows) == 15
    assert len(recognised) == 5
    assert max(seen) == (seen[-1][1], sum(file.stat().st_size for file in files))


def test_pipes_written_one_after_the_other(tmp_path):
    pipes = [tmp_path / "a", tmp_path / "b"]
    for pipe in pipes:
        os.mkfifo(pipe)
    writer = threading.Thread(
        target=lambda: [pipe.write_bytes(jsonl(3000)) for pipe in pipes], daemon=True
    )
    writer.start()
    assert len(ingest_files(*pipes).rows) == 6000
    writer.join()


def test_progress_ends_at_the_total(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(jsonl(500)))
    (tmp_path / "b").write_bytes(jsonl(500))
    seen = []
    ingest_files(
        tmp_path / "a", tmp_path / "b", progress=lambda done, total: seen.append((done, total))
    )
    total = sum((tmp_path / name).stat().st_size for name in "ab")
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)


ROW = st.fixed_dictionaries(
    {
        "url": st.integers(0, 99).map(lambda i: f"http://a.example/{i}"),
        "at": st.none() | st.integers(0, int(NOW)) | st.integers(0, int(NOW)).map(float),
    },
    optional={
        "status": st.none() | st.integers(0, 999),
        "digest": st.none() | st.integers(0, 2**64 - 1),
        "digest_of": st.sampled_from(["text", "bytes"]),
        "reported": st.none() | st.booleans(),
        "simhash": st.integers(0, 2**64 - 1),
        "title": st.text(st.characters(codec="utf-8"), min_size=1, max_size=9),
        "links": st.none()
        | st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=3),
        "bytes": st.integers(0, 2**63 - 1),
        "seconds": st.floats(0, 1e9),
        "etag": st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1),
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=8), st.booleans())
def test_json_lines_are_read_back_unchanged(tmp_path_factory, rows, ascii_only):
    path = tmp_path_factory.getbasetemp() / "rows"
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows), newline=""
    )
    run = ingest_files(path)
    assert run.rejects == []
    for row, back in zip(rows, run.rows, strict=True):
        when = None if back["at"] is None else back["at"].timestamp()
        assert when == row["at"]
        for name in set(row) - {"at", "digest_of", "links"}:
            assert back[name] == row[name]
        if row.get("links") is not None:
            links = resolve_links(row["links"], row["url"])
            assert back["links"] == [link for link in links if link not in (None, row["url"])]
