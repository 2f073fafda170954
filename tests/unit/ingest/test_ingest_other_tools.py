"""Files of other tools: Wayback's CDX server, WACZ, sitemaps, URL lists, changedetection.io."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile
from datetime import UTC, datetime

import pytest
from ingest_files import cdx_server_json, http, ingest_files, url, warc, warc_gz, warc_record

from recrawl import registry
from recrawl.errors import BadInput, MissingExtra
from recrawl.ingest.foreign_values import foreign_digest
from recrawl.ingest.readers import wacz

READERS = registry.parts("reader")
UUID = "6a4f6e24-2f0c-4b0e-8f6a-0d6c2b1b7a11"


@pytest.mark.parametrize("name", READERS)
def test_every_example_is_recognised_by_one_reader(name, tmp_path):
    example = READERS[name]().example()
    assert [other for other in READERS if READERS[other]().accepts(example, "x")] == [name]
    if name == "sitemap":
        pytest.importorskip("lxml", reason="needs the extra crawl")
    (tmp_path / "x").write_bytes(example)
    run = ingest_files(tmp_path / "x")
    assert run.report.files[0].format == name
    assert (len(run.rows) > 0, run.report.rejected) == (True, 0)


def test_a_list_of_urls_is_recognised_last(tmp_path):
    resorts = [name for name in READERS if getattr(READERS[name], "is_last_resort", False)]
    assert resorts == ["urls"]
    (tmp_path / "x").write_text("http://a.example/?a=1,url\nhttp://b.example/\n")
    assert ingest_files(tmp_path / "x").report.files[0].format == "csv"
    assert len(ingest_files(tmp_path / "x", format="urls").rows) == 2


def test_a_list_of_urls(tmp_path):
    (tmp_path / "x").write_text(
        "\ufeff# seeds\n\nHTTPS://A.example\n  http://b.example/x y\n\thttp://c.example/#top\r\nno url\n"
    )
    run = ingest_files(tmp_path / "x", format="urls")
    assert run.store.urls() == ["https://a.example/", "http://b.example/x%20y", "http://c.example/"]
    assert {row["at"] for row in run.rows} == {None}
    assert run.report.rejected == 1


def test_a_page_of_text_is_no_list_of_urls(tmp_path):
    (tmp_path / "x").write_text("http://a.example/\nand more text\n")
    with pytest.raises(BadInput, match="no known format"):
        ingest_files(tmp_path / "x")


def test_text_of_the_cdx_server(tmp_path):
    (tmp_path / "x").write_text(
        "org,a)/ 20260102030405 http://a.org/ text/html 200 ABC 12\n"
        "org,a)/ 20260103030405 http://a.org/ warc/revisit - ABC 12\n"
        "org,a)/ 20260103030405 ftp://a.org/ text/html 200 ABC 12\n"
        "org,a)/ 20269903030405 http://a.org/ text/html 200 ABC 12\n"
        "org,a)/ 20260103030405 http://a.org/ text/html\n"
        "\n"
        "org%2Ca%29%2F+20260103030405%21\n"
    )
    run = ingest_files(tmp_path / "x")
    first, again = run.rows
    assert (first["at"], first["status"]) == (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), 200)
    assert (first["digest"], first["digest_of"]) == (foreign_digest("ABC"), "payload")
    assert (again["status"], again["reported"], first["reported"]) == (None, False, None)
    assert run.report.rejected == 2


@pytest.mark.parametrize("form", ["lines", "one line", "other fields"])
def test_json_of_the_cdx_server(form, tmp_path):
    data = cdx_server_json(5)
    if form == "one line":
        data = json.dumps(json.loads(data)).encode()
    elif form == "other fields":
        data = json.dumps([[row[1], row[2]] for row in json.loads(data)]).encode()
    (tmp_path / "x").write_bytes(data)
    run = ingest_files(tmp_path / "x")
    assert (run.report.files[0].format, run.report.rejected) == ("cdx-server", 0)
    assert run.store.urls() == [url(i) for i in range(5)]
    assert [row["status"] for row in run.rows] == [None if form == "other fields" else 200] * 5
    (tmp_path / "x").write_bytes(b"[]\n")
    assert ingest_files(tmp_path / "x", format="cdx-server").report.records == 0


def zipped(entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as file:
        for name, body in entries.items():
            file.writestr(name, body)
    return sink.getvalue()


def test_wacz(tmp_path):
    entries = {
        "datapackage.json": b"{}",
        "archive/a.warc.gz": warc_gz(3),
        "indexes/index.cdx.gz": gzip.compress(b"x"),
        "pages/pages.jsonl": b"{}",
        "../../archive/evil.warc": warc(2),
        "archive/../../evil.warc": warc(2),
        "archive/b.warc": warc_record(url(9), http(b"<p>last")),
    }
    (tmp_path / "x").write_bytes(zipped(entries))
    run = ingest_files(tmp_path / "x")
    assert (run.report.files[0].format, run.report.rejected) == ("wacz", 0)
    assert run.store.urls() == [url(0), url(1), url(2), url(9)]
    assert run.rows[-1]["text"] == "last"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    (tmp_path / "x").write_bytes(gzip.compress(zipped(entries)))  # cannot seek
    assert len(ingest_files(tmp_path / "x").rows) == 4


def test_a_damaged_entry_of_a_wacz_loses_only_itself(tmp_path):
    entries = {"archive/a.warc.gz": warc_gz(30)[:-40], "archive/b.warc.gz": warc_gz(2)}
    (tmp_path / "x").write_bytes(zipped(entries))
    run = ingest_files(tmp_path / "x")
    assert len(run.rows) == 29 + 2
    assert [reject["where"] for reject in run.rejects] == ["archive/a.warc.gz"]
    (tmp_path / "x").write_bytes(zipped(entries)[:-30])
    assert "is not a whole zip file" in ingest_files(tmp_path / "x").report.files[0].problem
    (tmp_path / "x").write_bytes(zipped({"datapackage.json": b"{}"}))
    assert "holds no archive" in ingest_files(tmp_path / "x").report.files[0].problem


def test_zip_bombs_are_not_unpacked(tmp_path, monkeypatch):
    zeros = bytes(8 << 20)
    bomb = zipped({"archive/a.warc": zeros, "archive/b.warc": warc(1)}, zipfile.ZIP_DEFLATED)
    (tmp_path / "x").write_bytes(bomb)
    run = ingest_files(tmp_path / "x")
    assert (len(run.rows), run.report.rejected) == (1, 1)
    assert "unpacks to more" in run.reasons[0]
    monkeypatch.setattr(wacz, "_MAX_LIST_BYTES", 100)
    assert "too many entries" in ingest_files(tmp_path / "x").report.files[0].problem


def test_entries_of_a_zip_file_that_share_their_bytes_are_read_once(tmp_path):
    body = zipped({f"archive/{name}.warc": warc(40) if name == "a" else b"x" for name in "abc"})
    shared, place = bytearray(body), body.index(b"PK\x01\x02")
    entry = 46 + len("archive/a.warc")
    for start in (place + entry, place + 2 * entry):  # these point at the first archive, too
        shared[start + 16 : start + 28] = body[place + 16 : place + 28]
        shared[start + 42 : start + 46] = bytes(4)
    (tmp_path / "x").write_bytes(bytes(shared))
    run = ingest_files(tmp_path / "x")
    assert len(run.rows) == 40
    assert [reason[:26] for reason in run.reasons] == ["The entry unpacks to more "] * 2


SITEMAP = """<?xml version="1.0"?>
<!-- a comment -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://a.example/1</loc><lastmod>2026-01-01</lastmod></url>
<url><loc>/relative</loc></url><url><loc>mailto:me</loc></url>
<url><loc>https://a.example/2</loc></url>
"""
RSS = """<rss version="2.0"><channel><link>https://a.example/</link>
<item><link>https://a.example/1</link><pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate></item>
<item><guid>https://a.example/2</guid></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://a.example/"/>
<entry><link href="https://a.example/1"/><updated>2026-01-01T00:00:00Z</updated></entry>
<entry><link href="https://a.example/2"/></entry></feed>"""


@pytest.mark.parametrize("text", [SITEMAP + "</urlset>", RSS, ATOM])
def test_sitemaps_and_feeds_name_pages_that_were_not_visited(text, tmp_path):
    pytest.importorskip("lxml")
    (tmp_path / "x").write_text(text)
    run = ingest_files(tmp_path / "x")
    assert run.report.files[0].format == "sitemap"
    assert run.store.urls() == ["https://a.example/1", "https://a.example/2"]
    assert {(row["at"], row["last_modified"]) for row in run.rows} == {(None, None)}
    assert len(run.rejects) == (1 if text.startswith(SITEMAP) else 0)


def test_a_sitemap_cut_short_and_one_that_names_sitemaps(tmp_path):
    pytest.importorskip("lxml")
    (tmp_path / "x").write_text(SITEMAP)
    run = ingest_files(tmp_path / "x")
    assert len(run.rows) == 2
    assert "XML error" in run.reasons[-1]
    (tmp_path / "x").write_text(
        "<sitemapindex><sitemap><loc>https://a.example/s.xml</loc></sitemap></sitemapindex>"
    )
    run = ingest_files(tmp_path / "x")
    assert run.rows == []
    assert "names 1 sitemaps and no page. Ingest those: https://a.example/s.xml" in run.reasons[0]


def test_sitemaps_need_the_extra_crawl(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lxml", None)
    (tmp_path / "x").write_text(RSS)
    with pytest.raises(MissingExtra, match=r"pip install 'recrawl\[crawl\]'"):
        ingest_files(tmp_path / "x")


def watch_folder(folder, watches):
    folder.mkdir()
    (folder / "url-watches.json").write_text(json.dumps({"watching": watches, "settings": {}}))
    return folder


def test_the_datastore_of_changedetection(tmp_path):
    other, failed = UUID.replace("6a", "7b"), UUID.replace("6a", "8c")
    watches = {
        UUID: {"url": "https://a.example/", "last_checked": 1_767_400_000, "last_error": False},
        other: {"url": "https://b.example/"},
        failed: {"url": "https://c.example/", "last_checked": 1_767_400_000, "last_error": "503"},
        "../outside": {"url": "https://d.example/", "last_checked": 1_767_400_000},
        "no-watch": 5,
    }
    folder = watch_folder(tmp_path / "datastore", watches)
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    for name in (UUID, "../outside"):
        (folder / name).mkdir()
    (folder / "../outside/history.txt").write_text("1767300000,a.txt\n")
    (folder / UUID / "a.txt").write_text("first text")
    (folder / UUID / "link.txt").symlink_to(secret)
    (folder / UUID / "history.txt").write_text(
        f"1767200000,/datastore/{UUID}/a.txt\n1767300000,b.txt.br\n1767310000,link.txt\n"
        "1767320000,../../secret.txt\nbroken\n"
    )
    for given in (folder, folder / "url-watches.json"):
        run = ingest_files(given)
        assert run.report.files[0].format == "changedetection"
        a = [row for row in run.rows if row["url"] == "https://a.example/"]
        assert [row["text"] for row in a] == ["first text", None, None, None, None]
        assert [row["reported"] for row in a] == [None, True, True, True, False]
        assert a[-1]["at"].timestamp() == 1_767_400_000
        b, c, d = (row for row in run.rows if row["url"] != "https://a.example/")
        assert (b["at"], c["status"], d["status"]) == (None, 0, 200)
        assert run.report.rejected == 1


def test_a_snapshot_with_a_name_that_no_file_can_have_is_left_out(tmp_path):
    folder = watch_folder(tmp_path / "datastore", {UUID: {"url": "https://a.example/"}})
    (folder / UUID).mkdir()
    (folder / UUID / "history.txt").write_text(f"1767200000,{'x' * 300}.txt\n")
    [row] = ingest_files(folder).rows
    assert (row["text"], row["status"]) == (None, 200)


def test_a_cdx_file_with_seven_letters_is_not_an_answer_of_the_server(tmp_path):
    line = "org,example)/ 20260131120000 https://example.org/ text/html 200 ABC 10"
    (tmp_path / "x").write_text(f" CDX N b a m s k S\n{line}\n")
    assert ingest_files(tmp_path / "x").report.files[0].format == "cdx"


def test_only_folders_of_known_tools_are_accepted(tmp_path):
    rule = "FILE must be a file, a folder that holds url-watches.json, or -"
    with pytest.raises(BadInput, match=rule):
        ingest_files(tmp_path)
    folder = watch_folder(tmp_path / "datastore", {UUID: {"url": "https://a.example/"}})
    assert len(ingest_files(folder, format="changedetection").rows) == 1
    with pytest.raises(BadInput, match="FILE must be a file, or - for"):
        ingest_files(folder, format="csv")
