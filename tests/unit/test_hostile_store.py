"""A store of somebody else: it reaches no file, runs no code, and crashes nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import duckdb
import numpy as np
import pytest
from support import DOWNGRADE, batch

from recrawl.errors import BadInput, StoreError, StoreInvalid
from recrawl.history import Store

SECRET = "only this user may read it"


@pytest.fixture
def filled(tmp_path):
    with Store.open(tmp_path / "filled", create=True) as store:
        for number in range(3):
            store.append(batch(number))
    return store


def change(store: Store, sql: str) -> None:
    """Change a store as its sender can, with a plain DuckDB client."""
    with duckdb.connect(str(store.path / "history.duckdb")) as raw:
        raw.execute(sql)


FOREIGN = {
    "a view that reads a file": (
        "ALTER TABLE moved RENAME TO gone; DROP TABLE gone;"
        "CREATE VIEW moved AS SELECT 0 AS page_id, content AS target FROM read_text('{secret}')",
        "the view moved",
    ),
    "a view in place of meta": (
        "CREATE TABLE kept AS FROM meta; DROP TABLE meta; CREATE VIEW meta AS FROM kept",
        "not a recrawl store",
    ),
    "a macro in place of a function": ("CREATE MACRO epoch_us(x) AS 0", "the macro epoch_us"),
    "an expression as default": (
        "ALTER TABLE links ALTER target SET DEFAULT current_setting('home_directory')",
        "table links is made by",
    ),
    "a generated column": (
        "DROP TABLE moved; CREATE TABLE moved (page_id INTEGER, "
        "target VARCHAR GENERATED ALWAYS AS (page_id::VARCHAR))",
        "table moved is made by",
    ),
    "a collation": (
        "DROP TABLE moved; CREATE TABLE moved (page_id INTEGER, target VARCHAR COLLATE NOCASE)",
        "table moved is made by",
    ),
    "a check": (
        "DROP TABLE moved; CREATE TABLE moved (page_id INTEGER CHECK (page_id > 9), target VARCHAR)",
        "table moved is made by",
    ),
    "an index": ("CREATE INDEX quick ON moved (page_id)", "the index quick"),
    "a sequence": ("CREATE SEQUENCE numbers", "the sequence numbers"),
    "a type": ("CREATE TYPE mood AS ENUM ('sad')", "the type mood"),
    "a schema": ("CREATE SCHEMA other", "the schema other"),
    "another table": ("CREATE TABLE mine (x INTEGER)", "column mine.x"),
    "another column": ("ALTER TABLE hosts ADD COLUMN x INTEGER", "column hosts.x"),
    "another type": ("ALTER TABLE visits ALTER status TYPE BIGINT", "visits.status of type BIGINT"),
    "a missing column": ("ALTER TABLE visits DROP COLUMN etag", "lacks the column visits.etag"),
    "a missing table": ("DROP TABLE signals", "lacks the column signals."),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_tables_that_recrawl_does_not_make_are_refused(store, tmp_path, name):
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    store.close()
    sql, reason = FOREIGN[name]
    change(store, sql.format(secret=secret))
    with pytest.raises(StoreInvalid, match=reason) as refused:
        Store.open(store.path)
    assert SECRET not in str(refused.value)


def test_an_older_store_has_no_foreign_tables_either(store):
    change(store, "UPDATE meta SET value = '1'; CREATE VIEW x AS SELECT 1")
    with pytest.raises(StoreInvalid, match="the view x"):
        Store.open(store.path)


def test_an_older_store_that_lacks_more_than_it_may_is_not_upgraded(store, visits):
    change(store, DOWNGRADE)
    change(store, "ALTER TABLE visits DROP COLUMN etag")
    with pytest.raises(StoreInvalid, match=r"lacks the column visits\.etag"), store:
        Store.open(store.path).append(visits(("https://a.example/", 0, 1)))
    [version] = Store.open(store.path).query("SELECT value FROM meta WHERE key != 'detector'")
    assert version.to_pylist() == ["1"]


def test_a_default_that_is_a_number_is_what_an_upgrade_may_leave(store):
    change(store, "ALTER TABLE pages ALTER flips SET DEFAULT 0")
    assert Store.open(store.path).summary().pages == 0


def test_no_query_reaches_a_file_a_server_an_extension_or_a_variable(store, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text(SECRET)
    hidden = {"a": [1]}  # noqa: F841
    for sql in (
        f"SELECT * FROM read_text('{secret}')",
        f"SELECT * FROM '{secret}'",
        f"SELECT * FROM glob('{tmp_path}/*')",
        f"ATTACH '{tmp_path / 'other.duckdb'}'",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        "SELECT * FROM 'https://127.0.0.1:1/x.parquet'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM hidden",
        "SET enable_external_access = true",
        "SET memory_limit = '1TB'",
        "SET temp_directory = '/tmp'",
    ):
        with pytest.raises((BadInput, StoreError)) as refused:
            store.query(sql)
        assert SECRET not in str(refused.value), sql
    assert {file.name for file in tmp_path.iterdir()} == {"secret.csv", "store"}


@pytest.mark.parametrize("name", ["md:x", "s3:x", "http:x", ":memory:", "sqlite:x"])
def test_a_name_of_a_store_is_a_folder_whatever_it_looks_like(tmp_path, monkeypatch, visits, name):
    monkeypatch.chdir(tmp_path)
    with Store.open(name, create=True) as store:
        store.append(visits(("https://a.example/", 0, 1)))
    assert Store.open(tmp_path / name).summary().visits == 1


def test_a_lock_that_is_a_link_does_not_empty_the_file_it_leads_to(store, tmp_path, visits):
    store.close()
    precious = tmp_path / "precious"
    precious.write_text(SECRET)
    lock = store.path / "writer.lock"
    lock.unlink()
    lock.symlink_to(precious)
    with pytest.raises(StoreError, match="cannot be opened"):
        store.append(visits(("https://a.example/", 0, 1)))
    assert precious.read_text() == SECRET


IMPOSSIBLE = {
    "UPDATE pages SET page_id = 2000000000 WHERE page_id = 7": "page_id must be 0, 1, 2",
    "UPDATE pages SET page_id = -1 WHERE page_id = 7": "page_id must be 0 or more",
    "UPDATE pages SET page_id = NULL WHERE page_id = 7": "page_id must be filled",
    "UPDATE pages SET page_id = 8 WHERE page_id = 7": "page_id must be 0, 1, 2",
    "INSERT INTO hosts FROM hosts LIMIT 1": "page_id must be 0, 1, 2",
    "UPDATE hosts SET host_id = 2000000000 WHERE host_id = 1;"
    "UPDATE pages SET host_id = 2000000000 WHERE host_id = 1": "must be ids of hosts",
    "UPDATE hosts SET site_id = -5": "site must be 0 or more",
    "UPDATE hosts SET site_id = 99": "must be ids of hosts",
    "UPDATE pages SET n_visits = -1": "n_visits must be 0 or more",
    "UPDATE pages SET n_visits = 2000000000": "no more of these than visits",
    "UPDATE pages SET n_compared = n_visits + 1": "no more of these than visits",
    "UPDATE pages SET n_changes = n_compared + 1": "no more changes than compared",
    "UPDATE pages SET n_changes = NULL": "n_changes must be filled",
    "UPDATE pages SET recent = NULL": "recent must be filled",
    "UPDATE pages SET failures = -3": "failures must be 0 or more",
    "UPDATE pages SET exposure = 'nan'": "exposure must be 0 or more",
    "UPDATE pages SET exposure = 'inf'": "exposure must be 0 or more",
    "UPDATE pages SET exposure = -1": "exposure must be 0 or more",
    "UPDATE pages SET exposure = NULL": "exposure must be 0 or more",
    "UPDATE pages SET first_seen = NULL": "first_seen must be filled",
    "UPDATE pages SET last_visit = '0900-01-01'": "last_visit must be from 1970",
    "UPDATE pages SET last_visit = '20000-01-01'": "last_visit must be from 1970",
    "UPDATE pages SET url = 'file:///etc/passwd' WHERE page_id = 3": "must be an http",
    "UPDATE pages SET url = NULL WHERE page_id = 3": "must be an http",
    "UPDATE visits SET days = -1 WHERE days IS NOT NULL": "days must be 0 or more",
    "UPDATE visits SET days = 'nan' WHERE days IS NOT NULL": "days must be 0 or more",
    "UPDATE visits SET days = 'inf' WHERE days IS NOT NULL": "days must be 0 or more",
    'UPDATE visits SET "at" = NULL': "visits.at must be filled",
    "UPDATE visits SET changed = NULL": "changed must be filled",
    "UPDATE visits SET new_internal = -7": "new_internal must be 0 or more",
    "INSERT INTO contents FROM contents LIMIT 1": "contents must have a page once",
    "UPDATE links SET target = NULL": "target must be filled",
    "INSERT INTO signals VALUES (1, NULL, '2024-01-01', '2024-01-01')": "signals.kind must be",
    "INSERT INTO signals VALUES (1, 'feed', NULL, '2024-01-01')": "signals.said must be",
}


@pytest.mark.slow
def test_values_that_recrawl_never_writes_are_refused(filled):
    sound = (filled.path / "history.duckdb").read_bytes()
    for sql, reason in IMPOSSIBLE.items():
        (filled.path / "history.duckdb").write_bytes(sound)
        change(filled, sql)
        with pytest.raises(StoreInvalid, match=reason):
            read_all(filled)
    (filled.path / "history.duckdb").write_bytes(sound)
    read_all(filled)


def read_all(store: Store) -> None:
    pages = store.pages()
    pages.urls(), pages.intervals(), pages.texts(), pages.outlinks(), pages.n_links()
    store.signals(), store.validators(pages.page_id)


@pytest.mark.slow
def test_a_visit_is_not_folded_into_pages_that_are_not_there(filled):
    """A kernel that writes beyond its arrays ends the process, not only the call."""
    sound = (filled.path / "history.duckdb").read_bytes()
    for sql in (
        "UPDATE pages SET page_id = 2000000000 WHERE page_id = 7",
        "UPDATE pages SET page_id = NULL WHERE page_id = 7",
        "UPDATE pages SET page_id = 8 WHERE page_id = 7",
        "UPDATE pages SET n_visits = NULL",
        "UPDATE pages SET failures = -2",
        "UPDATE pages SET gone = NULL",
    ):
        (filled.path / "history.duckdb").write_bytes(sound)
        change(filled, sql)
        with pytest.raises(StoreInvalid, match=r"pages"), filled:
            filled.append(batch(5))


def test_sizes_and_durations_are_what_the_source_says_so_odd_ones_are_unknown(store, visits):
    store.append(
        visits(
            ("https://a.example/1", 0, 1, {"bytes": -5, "seconds": np.inf}),
            ("https://a.example/2", 0, 1, {"bytes": 5, "seconds": 0.5}),
        )
    )
    pages = store.pages()
    np.testing.assert_equal(pages.bytes, [np.nan, 5.0])
    np.testing.assert_equal(pages.seconds, [np.nan, 0.5])


FUZZ = """
import sys
import duckdb, numpy as np
import recrawl
from recrawl.errors import RecrawlError
from recrawl.history import Store
from recrawl.lab.what_if import read_store
from support import batch

path, seed = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(seed)
file = f"{path}/history.duckdb"
sound = open(file, "rb").read()
values = {
    "INTEGER": ["NULL", "-1", "2147483647", "-2147483648", "7"],
    "SMALLINT": ["NULL", "-1", "32767"], "UBIGINT": ["NULL", "0", "18446744073709551615"],
    "BIGINT": ["NULL", "-1", "9223372036854775807"], "UTINYINT": ["NULL", "11", "255"],
    "DOUBLE": ["NULL", "'nan'", "'inf'", "'-inf'", "-1e300", "1e300"],
    "TIMESTAMP": ["NULL", "'infinity'", "'-infinity'", "'0001-01-01'", "'200000-01-01'"],
    "BOOLEAN": ["NULL", "true", "false"],
    "VARCHAR": ["NULL", "''", "'file:///etc/passwd'", "repeat('x', 100000)"],
}
refused = 0
for _ in range(int(sys.argv[3])):
    open(file, "wb").write(sound)
    with duckdb.connect(file) as raw:
        columns = raw.execute("SELECT table_name, column_name, data_type FROM duckdb_columns() "
                              "WHERE NOT internal AND table_name != 'meta'").fetchall()
        table, column, kind = columns[rng.integers(len(columns))]
        value = values[kind][rng.integers(len(values[kind]))]
        where = ["", "WHERE random() < 0.1", "WHERE rowid = 5"][rng.integers(3)]
        sql = f'UPDATE {table} SET "{column}" = {value} {where}'
        raw.execute(sql)
    for use in (
        lambda: recrawl.plan(Store.open(path), budget="10%", now=1.8e9),
        lambda: Store.open(path).signals(),
        lambda: read_store(path),
        lambda: append(),
    ):
        def append():
            with Store.open(path) as store:
                store.append(batch(1))
                store.append(batch(9))
        try:
            use()
        except RecrawlError:
            refused += 1
        except Exception as error:
            print("escaped:", sql, repr(error))
            raise
print("refused", refused)
"""


@pytest.mark.slow
def test_cells_that_are_changed_at_random_never_end_the_process(filled):
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(filled.path), "1", "12"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-1]) > 0
