"""What is read from each format."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from ingest_files import EVERY, VARIANTS, html, http, ingest_files, polite, url, warc_record

from recrawl.ingest.foreign_values import foreign_digest
from recrawl.page.fingerprints import text_hash


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("name", EVERY)
def test_every_format_is_recognised_by_its_content(name, tmp_path):
    path = tmp_path / "no-hint"
    path.write_bytes(EVERY[name])
    run = ingest_files(path)
    assert run.report.files[0].format == VARIANTS.get(name, name)
    assert run.report.rejected == 0
    assert run.report.records == len(run.rows) == (120 if name == "polite" else 40)


def test_warc(tmp_path):
    head = 'ETag: "e1"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:10 GMT\r\n'
    same = "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\n"
    unmodified = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n"
    records = [
        warc_record(url(0), b"software: x", kind="warcinfo"),
        warc_record(url(1), http(html(1), headers=head)),
        warc_record(url(1), b"GET / HTTP/1.1\r\n\r\n", kind="request"),
        warc_record(url(1), http(b""), kind="revisit", extra=same),
        warc_record(url(1), http(b"", "304 Not Modified"), kind="revisit", extra=unmodified),
        warc_record(url(1), b"", kind="revisit", extra=same),
        warc_record("dns:a.example", b"20260102 1.2.3.4"),
        warc_record(url(2), http(b"<p>gone", "404 Not Found")),
        warc_record(url(3), http(b"", "301 Moved", "Location: /x\r\n")),
        warc_record(url(4), b"nothing of HTTP"),
        warc_record(f"<{url(5)}>", http(html(1)), date="2026-01-02T03:04:05Z"),
    ]
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(records))
    run = ingest_files(path)
    first, *revisits, gone, moved, last = run.rows
    assert first["at"] == at(2026, 1, 2, 3, 4, 5, 250_000)
    assert (first["etag"], first["last_modified"]) == ('"e1"', at(2026, 1, 1, 0, 0, 10))
    assert (first["title"], first["text"]) == ("T1", "Words of page 1 on")
    assert first["links"] == ["http://a1.example.org/next/1"]
    assert first["bytes"] == len(html(1))
    assert first["reported"] is None
    assert [row["status"] for row in revisits] == [200, 304, 200]
    assert all(row["reported"] is False and row["digest"] is None for row in revisits)
    assert (gone["status"], gone["digest"], moved["status"], moved["text"]) == (
        404,
        None,
        301,
        None,
    )
    assert (last["url"], last["digest"]) == (url(5), first["digest"])
    assert run.reasons == ["The response has no HTTP status line."]


def test_warc_with_chunked_and_line_feed_only_responses(tmp_path):
    chunks = b"7\r\n<p>one \r\n6;x=y\r\ntwo</p\r\n1\r\n>\r\n0\r\n\r\n"
    chunked = http(chunks, headers="Transfer-Encoding: chunked\r\n")
    joined = http(b"<p>one two</p>", headers="Transfer-Encoding: chunked\r\n")
    unix = b"HTTP/1.0 200 OK\nContent-Type: text/html\n\n<p>one two</p>"
    packed = http(gzip.compress(b"<p>one two</p>"), headers="Content-Encoding: gzip\r\n")
    path = tmp_path / "a.warc"
    path.write_bytes(
        b"".join(warc_record(url(i), b) for i, b in enumerate([chunked, joined, unix, packed]))
    )
    assert [row["text"] for row in ingest_files(path).rows] == ["one two"] * 4


def test_warc_continues_after_damaged_records(tmp_path):
    good = [warc_record(url(i), http(html(i) + b"x" * 3000)) for i in range(60)]
    good[20] += b"\r\nrubbish that no crawler wrote\r\n\r\n" * 40
    good[40] = good[40].replace(b"Content-Length: ", b"Content-Length: x")
    path = tmp_path / "a.warc"
    path.write_bytes(b"".join(good))
    run = ingest_files(path)
    assert run.store.urls() == [url(i) for i in range(60) if i != 40]
    assert run.report.rejected >= 2
    assert all(reject["where"] for reject in run.rejects)


def test_cdx_in_another_order_and_its_revisits(tmp_path):
    path = tmp_path / "a.cdx"
    path.write_text(
        " CDX a b m s k\n"
        "http://a.example/ 20260102030405 text/html 200 sha1:abc\n"
        "http://a.example/ 20260103030405 warc/revisit - SHA1:ABC\n"
        "dns:a.example 20260103030405 text/dns - -\n"
        "http://a.example/ 2026 text/html 200 X\n"
        "http://a.example/ short\n"
    )
    run = ingest_files(path)
    first, again = run.rows
    assert (first["status"], first["reported"]) == (200, None)
    assert (again["status"], again["reported"], again["at"]) == (
        None,
        False,
        at(2026, 1, 3, 3, 4, 5),
    )
    assert first["digest"] == again["digest"] == foreign_digest("ABC")
    assert first["digest_of"] == "payload"
    assert run.report.rejected == 2


def test_cdxj(tmp_path):
    path = tmp_path / "a.cdxj"
    fact = {"url": "https://a.example/", "mime": "warc/revisit", "status": "-", "digest": "sha1:Q"}
    path.write_text(f"!OpenWayback-CDXJ 1.0\nexample,a)/ 20260102030405 {json.dumps(fact)}\n")
    (row,) = ingest_files(path).rows
    assert (row["url"], row["status"], row["reported"]) == ("https://a.example/", None, False)


def test_heritrix(tmp_path):
    tail = "LL http://r.example/ text/html #001"
    path = tmp_path / "crawl.log"
    path.write_text(
        f"2026-01-02T03:04:09.123Z   200  12 http://a.example/1 {tail} 20260102030405250+75 sha1:A - -\n"
        f"2026-01-02T03:04:09.123Z   200  12 http://a.example/2 {tail} 20260102030405250+75 sha1:A - duplicate:digest\n"
        f"2026-01-02T03:04:09.123Z   304   - http://a.example/3 {tail} - - - duplicate:server-not-modified,2t\n"
        f"2026-01-02T03:04:09.123Z    -2   - http://a.example/4 {tail} - - - 3t\n"
        f"2026-01-02T03:04:09.123Z -9998   - http://a.example/5 {tail} - - - -\n"
        f"2026-01-02T03:04:09.123Z -5000   - http://a.example/6 {tail} - - - -\n"
        f"2026-01-02T03:04:09.123Z     1  50 dns:a.example {tail} 20260102030405250+75 sha1:A - -\n"
        "2026-01-02T03:04:09.123Z 200 12\n"
    )
    run = ingest_files(path)
    one, two, three, four = run.rows
    assert (one["at"], one["seconds"], one["bytes"]) == (
        at(2026, 1, 2, 3, 4, 5, 250_000),
        0.075,
        12,
    )
    assert (one["reported"], two["reported"], three["reported"]) == (None, False, False)
    assert (one["digest_of"], one["digest"]) == ("payload", two["digest"])
    assert (three["at"], three["bytes"]) == (at(2026, 1, 2, 3, 4, 9, 123_000), None)
    assert (four["url"], four["status"], four["digest"]) == ("http://a.example/4", 0, None)
    assert run.reasons == ["3 fields instead of 12."]


@pytest.mark.parametrize(
    "due",
    [
        1_767_323_045_000,
        "2026-01-02T03:04:05.000Z",
        "Fri Jan 02 03:04:05 UTC 2026",
        "2026-01-02T04:04:05+01:00",
    ],
)
def test_nutch_times(due, tmp_path):
    page = {
        "url": "http://a.example/",
        "statusName": "db_fetched",
        "fetchTime": due,
        "retryIntervalDays": 1,
    }
    path = tmp_path / "part-r-00000"
    path.write_text(lines(page))
    assert ingest_files(path).rows[0]["at"] == at(2026, 1, 1, 3, 4, 5)


def test_nutch_status(tmp_path):
    base = {"fetchTime": 1_767_323_045_000, "retryIntervalSeconds": 60, "signature": None}
    names = [
        "db_unfetched",
        "db_fetched",
        "db_notmodified",
        "db_gone",
        "db_redir_temp",
        "db_redir_perm",
        "db_duplicate",
    ]
    rows = [{"url": f"http://a.example/{n}", "statusName": n, **base} for n in [*names, "db_what"]]
    rows[1] |= {"signature": "aa", "modifiedTime": "2026-01-01T00:00:00Z"}
    path = tmp_path / "part"
    path.write_text(lines(*rows))
    run = ingest_files(path)
    assert [row["status"] for row in run.rows] == [None, 200, 304, 404, 302, 301, 200]
    assert run.rows[0]["at"] is None
    assert (run.rows[1]["digest_of"], run.rows[1]["last_modified"]) == ("nutch", at(2026, 1, 1))
    assert run.rows[2]["reported"] is False
    assert run.reasons == ["Unknown statusName: 'db_what'."]


def test_urlfrontier(tmp_path):
    facts = {
        "lastProcessedDate": {"values": ["2026-01-02T03:04:05Z"]},
        "fetch.statusCode": {"values": ["404"]},
        "signature": {"values": ["ff"]},
        "etag": {"values": ["e"]},
        "last-modified": {"values": ["Thu, 01 Jan 2026 00:00:00 GMT"]},
    }
    info = {"url": "http://a.example/", "key": "a.example", "crawlID": "c"}
    path = tmp_path / "dump.txt"
    path.write_text(
        lines(
            {"known": {"info": info | {"metadata": facts}, "refetchableFromDate": "1800000000"}},
            {"discovered": {"info": info}},
            {"known": {"info": info | {"metadata": {}}}},
            {"known": {"info": {"key": "no url"}}},
        )
    )
    run = ingest_files(path)
    known, *pages = run.rows
    assert (known["status"], known["etag"], known["digest_of"]) == (404, "e", "signature")
    assert known["last_modified"] == at(2026, 1, 1)
    assert [row["at"] for row in pages] == [None, None]
    assert run.reasons == ["The field 'url' is missing."]


def test_polite_with_and_without_its_urls(tmp_path):
    path = tmp_path / "urlid_offset_history.txt"
    path.write_bytes(polite(3) + b"3\tx\t[]\n4\t1\t[[1,7]]\n")
    run = ingest_files(path)
    assert run.store.urls()[::3] == [f"http://urlid-{i}.invalid/" for i in range(3)]
    assert [row["reported"] for row in run.rows[:3]] == [None, False, True]
    assert [row["at"] for row in run.rows[:3]] == [
        at(2000, 1, 1, 12),
        at(2000, 1, 2, 12),
        at(2000, 1, 5),
    ]
    assert run.report.rejected == 2
    names = "http://c.example/\t2\t1\nhttp://a.example/\t0\t1\nbroken\n"
    (tmp_path / "url_urlid_hostid.txt").write_text(names)
    assert ingest_files(path).store.urls()[::3] == [
        "http://a.example/",
        "http://urlid-1.invalid/",
        "http://c.example/",
    ]


def test_jsonl_values_of_every_kind(tmp_path):
    path = tmp_path / "a.jsonl"
    base = {"url": "http://a.example/"}
    path.write_text(
        lines(
            base | {"at": "2026-01-02T03:04:05", "digest": "v1", "changed": True, "zzz": [1]},
            base
            | {
                "at": 1_767_323_045,
                "digest": "v1",
                "links": ["http://b.example/"],
                "nofollow": [True],
            },
            base
            | {"at": 1_767_323_045_000, "digest": 2**64 - 1, "digest_of": "text", "seconds": 1.5},
            base | {"at": "2026-01-02T04:04:05+01:00", "text": "one  two"},
            base | {"at": 1_767_323_045.0, "text": "one two", "last_modified": "no time"},
            base,
        )
    )
    run = ingest_files(path)
    assert {row["at"] for row in run.rows[:5]} == {at(2026, 1, 2, 3, 4, 5)}
    a, b, c, d, e, known = run.rows
    assert (a["digest_of"], a["digest"], a["reported"]) == ("given", b["digest"], True)
    assert (b["links"], b["nofollow"]) == (["http://b.example/"], [True])
    assert (c["digest"], c["digest_of"], c["seconds"]) == (2**64 - 1, "text", 1.5)
    assert (d["digest_of"], d["digest"]) == ("text", e["digest"])
    assert known["at"] is None


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_the_same_columns_give_the_same_visits_in_each_format(kind, tmp_path):
    rows = [
        {
            "url": url(i),
            "at": "2026-01-02T03:04:05Z",
            "status": 200,
            "digest": f"d{i}",
            "changed": i % 2 == 0,
            "bytes": 7,
        }
        for i in range(5)
    ]
    table, path = pa.Table.from_pylist(rows), tmp_path / f"a.{kind}"
    if kind == "jsonl":
        path.write_text(lines(*rows))
    elif kind == "csv":
        pa.csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    run = ingest_files(path)
    assert [row["reported"] for row in run.rows] == [True, False, True, False, True]
    assert {row["digest_of"] for row in run.rows} == {"given"}
    assert [row["digest"] for row in run.rows] == [text_hash(f"d{i}") for i in range(5)]
    assert {(row["status"], row["bytes"], row["at"]) for row in run.rows} == {
        (200, 7, at(2026, 1, 2, 3, 4, 5))
    }


def test_parquet_types(tmp_path):
    path = tmp_path / "a.parquet"
    when = pa.array([1_767_323_045_000], pa.timestamp("ms"))
    coded = pa.array(["http://a.example/"]).dictionary_encode()
    table = pa.table(
        {
            "url": coded,
            "at": when,
            "digest": pa.array([5], pa.int64()),
            "text": pa.array(["x"], pa.large_string()),
        }
    )
    pq.write_table(table, path)
    (row,) = ingest_files(path).rows
    assert (row["at"], row["digest"], row["text"]) == (at(2026, 1, 2, 3, 4, 5), 5, "x")


def test_csv_with_quoted_lines_stray_quotes_and_short_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "url,at,title\n"
        'http://a.example/1,1767323045,"two\nlines, one value"\n'
        "http://a.example/2,1767323045\n"
        "\n"
        "http://a.example/3,never,x\n"
        "http://a.example/4,1767323045,\n"
    )
    run = ingest_files(path)
    assert run.store.urls() == ["http://a.example/1", "http://a.example/4"]
    assert (run.rows[0]["title"], run.rows[1]["title"]) == ("two\nlines, one value", None)
    assert run.report.rejected == 2
    path.write_text(
        'url,at,title\nhttp://a.example/1,2026-01-01,x\nhttp://a.example/2,2026-01-01,"x\nhttp://a.example/3,2026-01-01,x\n'
    )
    assert ingest_files(path).store.urls() == ["http://a.example/1", "http://a.example/3"]
