"""The history: what a visit does to its page, and what nothing may do to a store."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support import BATCH, DOWNGRADE, hold

import recrawl
from recrawl.errors import BadInput, BadUrl, StoreBusy, StoreInvalid, StoreNotFound
from recrawl.history import Appended, Store
from recrawl.history.fold import failure_kinds
from recrawl.model import DAY, FAILURES

A, B = "https://a.example/", "https://b.example/x"
START = 1_767_225_600.0


def column(store: Store, sql: str) -> list[object]:
    return store.query(sql).column(0).to_pylist()


def changed(store: Store) -> list[object]:
    return column(store, 'SELECT changed FROM visits ORDER BY page_id, "at"')


def test_first_visit_is_neither_change_nor_no_change(store, visits):
    store.append(visits((A, 0, 1), (A, 1, 1), (A, 3, 2)))
    pages = store.pages()
    assert changed(store) == [None, False, True]
    assert (pages.n_visits[0], pages.n_compared[0], pages.n_changes[0]) == (3, 2, 1)
    assert pages.exposure[0] == 3.0
    assert pages.recent[0] == 0b01
    assert pages.last_change[0] == START + 3 * DAY


def test_304_and_reported_unchanged_keep_the_copy(store, visits):
    store.append(
        visits((A, 0, 7), (A, 1, None, {"status": 304}), (A, 2, None, {"reported": False}))
    )
    store.append(visits((A, 3, 7)))
    assert changed(store) == [None, False, False, False]
    assert store.pages().exposure[0] == 3.0


def test_a_kind_without_a_digest_is_no_copy(store, visits):
    store.append(visits((A, 0, 1), (A, 1, None, {"digest_of": "text"}), (A, 2, 2)))
    assert changed(store) == [None, None, True]


def test_error_is_a_visit_but_no_outcome(store, visits):
    store.append(
        visits((A, 0, 1), (A, 1, None, {"status": 500}), (A, 2, None, {"status": 0}), (A, 3, 1))
    )
    pages = store.pages()
    assert changed(store) == [None, None, None, False]
    assert (pages.n_visits[0], pages.n_compared[0], pages.failures[0], pages.flips[0]) == (
        4,
        1,
        0,
        0,
    )


def test_gone_and_back_is_reported_apart_from_changes(store, visits):
    done = store.append(
        visits((A, 0, 1), (A, 1, None, {"status": 404}), (A, 2, None, {"status": 410}), (A, 3, 1))
    )
    assert done == Appended(added=4, known=0, pages=1, flips=2, unchanged=1)
    assert store.pages().n_changes[0] == 0


def test_success_without_digest_says_nothing(store, visits):
    store.append(visits((A, 0, 1), (A, 1, None), (A, 2, 1)))
    assert changed(store) == [None, None, False]
    assert column(store, "SELECT days FROM visits WHERE days IS NOT NULL") == [2.0]


def test_digests_of_different_kinds_are_not_compared(store, visits):
    store.append(
        visits((A, 0, 1), (A, 1, 2, {"digest_of": "payload"}), (A, 2, 2, {"digest_of": "payload"}))
    )
    assert changed(store) == [None, None, False]


@pytest.mark.slow
def test_same_input_again_adds_nothing(store, visits):
    table = visits((A, 0, 1), (A, 1, 2), (B, 0, 5), (A, 1, 9))
    assert store.append(table) == Appended(added=3, known=1, pages=2, changed=1)
    before = store.pages()
    assert store.append(table) == Appended(added=0, known=4, pages=0)
    for name, values in before.columns().items():
        np.testing.assert_array_equal(values, store.pages().columns()[name], err_msg=name)


def test_spellings_of_one_url_are_one_page(store, visits):
    store.append(visits(("HTTPS://A.example:443/#top", 0, 1), (A, 1, 2)))
    assert store.pages().urls() == [A]


def test_late_visit_rewrites_what_its_neighbours_showed(store, visits):
    store.append(visits((A, 0, 1), (A, 4, 1), (B, 0, 1)))
    store.append(visits((A, 2, 9)))
    assert column(store, 'SELECT changed FROM visits WHERE page_id = 0 ORDER BY "at"') == [
        None,
        True,
        True,
    ]
    assert store.pages().recent[0] == 0b11
    assert store.pages().first_visit[0] == START


def test_what_the_source_tells_counts_from_its_last_visit(store, visits):
    store.append(
        visits((A, 0, None), (A, 1, None, {"reported": False}), (A, 3, None, {"reported": True}))
    )
    pages = store.pages()
    assert (pages.n_compared[0], pages.n_changes[0], pages.exposure[0]) == (2, 1, 3.0)


def test_late_visit_of_another_kind_of_digest_leaves_unknown_what_it_splits(store, visits):
    store.append(visits((A, 0, 1), (A, 4, 2)))
    store.append(visits((A, 2, 7, {"digest_of": "bytes"})))
    assert changed(store) == [None, None, None]


def test_impossible_times_and_statuses_are_refused(store, visits):
    for row in ((A, 3_000_000, 1), (A, -30_000, 1), (A, 0, 1, {"status": -7})):
        with pytest.raises(BadInput, match="must be from"):
            store.append(visits(row))


@pytest.mark.slow
def test_new_links_are_those_absent_from_the_copy_before(store, visits):
    one, two, out = f"{A}1", f"{A}2", "https://other.example/"
    store.append(visits((A, 0, 1, {"links": [one, out]}), (A, 1, 2, {"links": [one, two, one]})))
    store.append(
        visits(
            (A, 2, None, {"status": 304}),
            (A, 3, 3, {"links": [two, out], "nofollow": [True, False]}),
        )
    )
    found = store.query(
        'SELECT internal_links, external_links, new_internal, new_external FROM visits ORDER BY "at"'
    )
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (1, 1, None, None),
        (2, 0, 1, 0),
        (None, None, None, None),
        (1, 1, 0, 1),
    ]
    past = store.pages().intervals()
    assert past.new_internal.tolist() == [1, 0, 0]  # nothing is new on what is not modified
    assert past.new_external.tolist() == [0, 0, 1]
    np.testing.assert_equal(past.links, [2, np.nan, 2])
    present = store.query(
        "SELECT target, internal FROM links WHERE last_seen IS NULL ORDER BY target"
    )
    assert [tuple(row.values()) for row in present.to_pylist()] == [(two, True), (out, False)]
    assert column(store, f"SELECT count(*) FROM links WHERE target = '{out}'") == [2]


def test_contents_hold_the_last_copy_only(store, visits):
    store.append(visits((A, 0, 1, {"text": "old"}), (A, 2, 2, {"text": "new", "title": "T"})))
    store.append(visits((A, 1, 3, {"text": "late"})))
    assert store.query("SELECT title, text FROM contents").to_pylist() == [
        {"title": "T", "text": "new"}
    ]


def test_an_error_page_is_not_the_page(store, visits):
    store.append(visits((A, 0, 1, {"text": "page", "links": [B]})))
    store.append(visits((A, 1, 2, {"text": "Not found", "links": [], "status": 404})))
    assert column(store, "SELECT text FROM contents") == ["page"]
    assert column(store, "SELECT target FROM links WHERE last_seen IS NULL") == [B]


def test_page_seen_but_not_visited(store, visits):
    with pytest.raises(BadInput, match="now"):
        store.append(visits((A, None, None)))
    assert store.append(visits((A, None, None)), now=START) == Appended(pages=1)
    assert store.pages().days_since_visit(START + DAY)[0] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("detector", sorted(recrawl.parts("detector")))
def test_every_detector_judges_across_batches(tmp_path, visits, detector):
    if detector == "relevance":
        (tmp_path / "queries.tsv").write_text("word7 word8\t2\n")
        detector = f"relevance:queries={tmp_path / 'queries.tsv'}"
    words = " ".join(f"word{i}" for i in range(200))
    rows = [
        (A, 0, 1, {"text": words, "links": [B]}),
        (A, 1, 1, {"text": words, "links": [B]}),
        (A, 2, 2, {"text": "other " * 200, "links": [f"{B}2"]}),
    ]
    with Store.open(tmp_path / "one", create=True, detector=detector) as one:
        one.append(visits(*rows))
    with Store.open(tmp_path / "many", create=True, detector=detector) as many:
        for row in rows:
            many.append(visits(row))
    assert changed(one) == changed(many) == [None, False, True]
    with pytest.raises(BadInput, match="fixed at its creation"):
        Store.open(tmp_path / "one", detector="nonsense")


@pytest.mark.slow
def test_a_detector_keeps_its_arguments(tmp_path, visits):
    rows = [(A, 0, 1, {"text": "a b c d e f g"}), (A, 1, 2, {"text": "a b c d e f z"})]
    for written, expected in (
        ("shingles:tau=0.9,width=2", False),
        ("shingles:tau=0.1,width=2", True),
    ):
        with Store.open(tmp_path / written, create=True, detector=written) as store:
            store.append(visits(*rows))
        assert changed(store) == [None, expected]
        assert Store.open(tmp_path / written).summary().detector == written
    with pytest.raises(BadInput, match="no argument 'tao'"):
        Store.open(tmp_path / "x", create=True, detector="shingles:tao=1")
    assert not (tmp_path / "x").exists()


def test_bad_visits_are_refused_whole(store, visits):
    good = visits((A, 0, 1))
    store.append(good)
    with pytest.raises(BadUrl):
        store.append(visits((B, 0, 1), ("not a url", 0, 1)))
    with pytest.raises(BadInput, match="'url'"):
        store.append(good.drop_columns(["url"]))
    assert len(store.pages()) == 1


@pytest.mark.slow
def test_missing_damaged_foreign_and_newer_stores(tmp_path, visits):
    with pytest.raises(StoreNotFound, match="recrawl ingest"):
        Store.open(tmp_path / "none")

    (tmp_path / "foreign").mkdir()
    duckdb.connect(str(tmp_path / "foreign" / "history.duckdb")).close()
    with pytest.raises(StoreInvalid, match="not a recrawl store"):
        Store.open(tmp_path / "foreign", create=True)

    with Store.open(tmp_path / "newer", create=True) as newer:
        newer.append(visits((A, 0, 1)))
    with duckdb.connect(str(tmp_path / "newer" / "history.duckdb")) as raw:
        raw.execute("UPDATE meta SET value = '99' WHERE key = 'recrawl schema'")
    with pytest.raises(StoreInvalid, match="upgrade recrawl"):
        Store.open(tmp_path / "newer")

    path = tmp_path / "damaged"
    with Store.open(path, create=True):
        pass
    sound = (path / "history.duckdb").read_bytes()
    flipped = [
        bytes(b ^ (255 * (at <= i < at + 64)) for i, b in enumerate(sound))
        for at in (20, 4096, 8192)
    ]
    for damage in (b"", b"garbage", sound[:5000], *flipped):
        (path / "history.duckdb").write_bytes(damage)
        with pytest.raises(StoreInvalid, match="Nothing was touched"):
            Store.open(path)
        assert (path / "history.duckdb").read_bytes() == damage


@pytest.mark.slow
def test_a_store_of_the_first_schema_is_read_as_it_is_and_upgraded_by_the_first_write(
    tmp_path, visits
):
    """Then a failed visit that took no time was one without a request."""
    path = tmp_path / "old"
    with Store.open(path, create=True) as store:
        store.append(
            visits(
                (A, 0, 1),
                (A, 1, None, {"status": 0}),
                (B, 0, None, {"status": 0, "seconds": 9.0}),
                (B, 1, 1),
            )
        )
        before = store.pages()
    with duckdb.connect(str(path / "history.duckdb")) as raw:
        raw.execute(DOWNGRADE)
    old = Store.open(path)
    assert (old.pages().exposure == before.exposure).all()
    assert old.intervals(np.arange(2)).days.tolist() == []
    assert column(old, "SELECT value FROM meta WHERE key = 'recrawl schema'") == ["1"]
    with old as store:
        store.append(visits((A, 2, 1, {"leads_to": B})))
        skipped = 'SELECT skipped FROM visits ORDER BY page_id, "at"'
        assert column(store, skipped) == [None, True, None, None, None]
        assert column(store, "SELECT target FROM moved") == [B]
        assert store.pages().failure.tolist() == [FAILURES.index("no answer")] * 2
        assert (store.pages().retries.tolist(), store.pages().returns.tolist()) == ([1, 1], [1, 1])
    assert column(Store.open(path), "SELECT value FROM meta WHERE key = 'recrawl schema'") == ["3"]


def test_a_store_that_another_process_upgraded_meanwhile_is_written(tmp_path, visits):
    path = tmp_path / "old"
    with Store.open(path, create=True) as store:
        store.append(visits((A, 0, 1)))
    with duckdb.connect(str(path / "history.duckdb")) as raw:
        raw.execute(DOWNGRADE)
    first, second = Store.open(path), Store.open(path)
    with first:
        first.append(visits((A, 1, None, {"status": 0})))
    with second:
        second.append(visits((A, 2, 1)))
        assert column(second, 'SELECT skipped FROM visits ORDER BY "at"') == [None, None, None]


def test_pages_remember_why_they_failed_and_how_retries_fared(store, visits):
    store.append(
        visits((A, 0, None, {"status": 404}), (A, 1, 1), (A, 2, 1), (A, 3, None, {"status": 503}))
    )
    store.append(visits((A, 4, None, {"status": 0, "problem": "dns"}), (B, 0, 1)))
    pages = store.pages()
    assert [FAILURES[kind] for kind in pages.failure] == ["no such host", "none"]
    assert pages.failures.tolist() == [2, 0]
    assert (pages.retries.tolist(), pages.returns.tolist()) == ([2, 0], [1, 0])


@pytest.mark.parametrize(
    ("status", "problem", "kind"),
    [
        (-1, None, "none"),
        (200, None, "none"),
        (304, None, "none"),
        (404, None, "not found (404)"),
        (410, None, "gone (410)"),
        (403, None, "refused (4xx)"),
        (429, None, "server error"),
        (408, None, "server error"),
        (500, None, "server error"),
        (302, None, "redirected"),
        (0, None, "no answer"),
        (0, "timeout", "timeout"),
        (0, "dns", "no such host"),
        (0, "robots.txt forbids it", "robots.txt"),
        (0, "the address is not public", "not public"),
        (0, "a word of another program", "no answer"),
        (404, "dns", "not found (404)"),
    ],
)
def test_the_kind_of_a_failure_follows_from_status_and_problem(status, problem, kind):
    problems = pa.chunked_array([[problem, None]], pa.string())
    kinds = failure_kinds(np.array([status, 200], np.int16), problems)
    assert [FAILURES[k] for k in kinds] == [kind, "none"]


def test_where_a_page_leads_is_kept_until_it_leads_elsewhere(store, visits):
    led = "SELECT url, target FROM moved JOIN pages USING (page_id) ORDER BY url"
    store.append(
        visits(
            (A, 1, None, {"status": 302, "leads_to": "HTTPS://c.example"}),
            (A, 0, None, {"status": 301, "leads_to": B}),
            (B, 0, 1, {"leads_to": "not a url"}),
        )
    )
    assert store.query(led).to_pylist() == [{"url": A, "target": "https://c.example/"}]
    store.append(visits((A, 2, 1), (B, 1, 1, {"leads_to": A})))
    assert store.query(led)["target"].to_pylist() == ["https://c.example/", A]
    store.append(visits((A, 0.5, None, {"status": 301, "leads_to": B})))  # late
    assert store.query(led)["target"].to_pylist() == ["https://c.example/", A]
    store.append(visits((A, 3, None, {"status": 301, "leads_to": B})))
    assert store.query(led)["target"].to_pylist() == [B, A]


@pytest.mark.slow
def test_second_writer_is_told_who_holds_the_store_and_readers_work(store, visits):
    store.append(visits((A, 0, 1)))
    store.close()
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(str(store.path), ready, done))
    holder.start()
    assert ready.wait(60)
    with pytest.raises(StoreBusy, match=f"process {holder.pid}"):
        store.append(visits((B, 0, 1)))
    assert len(store.pages()) == BATCH + 1
    done.set()
    holder.join(30)
    assert store.append(visits((B, 0, 1))).added == 1


FULL = """
import resource, sys
import numpy as np, pyarrow as pa
from recrawl.history import Store
from recrawl.errors import StoreError
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
n = 200_000
table = pa.table({"url": [f"https://h.example/{i}" for i in range(n)],
                  "at": pa.array(np.arange(n) * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
                  "digest": pa.array(np.random.default_rng(0).integers(0, 2**63, n).astype(np.uint64)),
                  "digest_of": ["text"] * n})
try:
    Store.open(sys.argv[1]).append(table)
except StoreError as error:
    print("refused", error)
"""


@pytest.mark.slow
def test_disk_full_is_an_error_and_earlier_data_stays(store, visits):
    store.append(visits((A, 0, 1), (A, 1, 2)))
    store.close()
    size = sum(f.stat().st_size for f in store.path.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(store.path), str(size + 100_000)],
        capture_output=True,
        text=True,
    )
    assert "refused" in done.stdout, done.stderr
    assert store.summary().visits == 2
    assert store.append(visits((A, 2, 2))).added == 1


def test_sql_errors_blame_the_query(store):
    with pytest.raises(BadInput, match="The query failed"):
        store.query("SELECT nothing FROM nowhere")


def test_validators_are_those_of_our_copy(store, visits):
    """An ETag from before the copy would call another content unchanged."""
    day = 1_767_225_600.0
    rows = [
        ("https://a.org/kept", 1, 1, {"status": 200, "etag": '"old"'}),
        (
            "https://a.org/kept",
            2,
            2,
            {"status": 200, "etag": '"new"', "last_modified": int(day * 1e6)},
        ),
        ("https://a.org/kept", 3, None, {"status": 304}),
        ("https://a.org/kept", 4, None, {"status": 404, "etag": '"gone"'}),
        ("https://a.org/renewed", 1, 1, {"status": 200, "etag": '"1"'}),
        ("https://a.org/renewed", 2, None, {"status": 304, "etag": '"2"'}),
        ("https://a.org/lost", 1, 1, {"status": 200, "etag": '"1"'}),
        ("https://a.org/lost", 2, 2, {"status": 200}),
        ("https://a.org/never", None, None),
    ]
    store.append(visits(*rows), now=2e9)
    names = ["never", "lost", "renewed", "kept"]
    ids = np.array([store.page_id(f"https://a.org/{name}") for name in names])
    assert store.validators(ids) == ([None, None, '"2"', '"new"'], [None, None, None, day])


def test_a_platform_without_file_locks_is_told_what_to_do():
    code = "import sys; sys.modules['fcntl'] = None; import recrawl; recrawl.open('x')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Use WSL on Windows" in done.stderr
