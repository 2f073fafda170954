"""The store: a folder with one DuckDB file that anyone can query."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import duckdb
import numpy as np
import pyarrow as pa

from recrawl import registry
from recrawl.errors import BadInput, StoreInvalid, StoreNotFound
from recrawl.history import append, foreign, schema, signals_table
from recrawl.history.database import DATABASE, WriterLock, connect
from recrawl.model import Intervals, Outlinks, Pages
from recrawl.public import public
from recrawl.urls import keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from recrawl.model import Column, FloatArray, IntArray, Signals, Time

MAX_CHARACTERS = 2**31 - 1  #: of a text: all


@public
@dataclass(frozen=True)
class Summary:
    """What a store holds."""

    detector: str
    pages: int
    visits: int
    changes: int
    failing: int  #: pages whose last visits failed
    hosts: int
    first_visit: float | None
    last_visit: float | None


@public
class Store:
    """The history of one crawl. Use `recrawl.open`."""

    def __init__(self, path: Path, detector: str, version: int) -> None:
        self.path = path
        self.detector = registry.make("detector", detector)
        self._detector_name = detector
        self._version = version
        self._lock = WriterLock(path)
        self._shared: duckdb.DuckDBPyConnection | None = None

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False, detector: str | None = None) -> Self:
        """Open a store. `detector` says what counts as a change; it is fixed at creation."""
        path = Path(path)
        if not (path / DATABASE).exists():
            if not create:
                raise StoreNotFound(
                    f"There is no store at {path}. `recrawl ingest {path} FILE` creates one."
                )
            registry.make("detector", detector or "digest")
            schema.create(path, detector or "digest")
        name, version = schema.read(path)
        if detector not in (None, name):
            raise BadInput(
                f"The store {path} detects changes by {name!r}, fixed at its creation; "
                f"got detector {detector!r}. Leave it out, or make a new store."
            )
        if detector is None and not registry.is_known("detector", name):
            raise StoreInvalid(
                f"The store {path} detects changes by {name!r}, which is not installed. A store of "
                "somebody else must not choose the code that runs here: announce the detector by "
                f"an entry point, or open the store with detector={name!r} if you trust it."
            )
        return cls(path, name, version)

    def append(self, visits: pa.Table, *, now: Time | None = None) -> append.Appended:
        """Add visits; they are on disk when this returns. Visits that the store has add nothing.

        `now` is when pages without a visit (rows without `at`) were seen.
        """
        self._begin_writing()
        batch = append.prepare(visits, now)
        with self._connect(write=True) as connection:
            return append.record(connection, batch, self.detector)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Open the file once for all operations inside; keep them short, since others wait."""
        self._begin_writing()
        with connect(self.path, write=True) as self._shared:
            try:
                yield
            finally:
                self._shared = None

    def _begin_writing(self) -> None:
        """Take the right to write, and upgrade an older store."""
        self._lock.acquire()
        if self._version < schema.VERSION:
            schema.upgrade(self.path)
            self._version = schema.VERSION

    def _connect(self, *, write: bool = False) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        return (
            connect(self.path, write=write) if self._shared is None else nullcontext(self._shared)
        )

    def close(self) -> None:
        """Release the right to write."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def pages(self) -> Pages:
        """The columns of every page, in the order of page ids."""
        with self._connect() as connection:
            columns = connection.execute(schema.readable(_PAGES, self._version)).fetchnumpy()
            [(hosts, visits)] = connection.execute(_SIZES).fetchall()
        order = _order(columns["page_id"])
        columns = {name: column[order] for name, column in columns.items()}
        foreign.check_pages(columns, hosts, visits)
        plain: dict[str, Any] = {name: _plain(column) for name, column in columns.items()}
        for name in ("bytes", "seconds"):  # as the source says: anything
            known = (plain[name] >= 0.0) & (plain[name] < np.inf)
            plain[name] = np.where(known, plain[name], np.nan)
        return Pages(**plain, source=self)

    def signals(self) -> Signals | None:
        """The changes that sitemaps and feeds claim; None if there are no claims."""
        with self._connect() as connection:
            return signals_table.read(connection)

    def models(self) -> Path:
        """The folder where policies keep their fitted models."""
        return self.path / "models"

    def database(self) -> Self:
        """The store itself: its tables are on disk."""
        return self

    def claim(self, claims: pa.Table) -> int:
        """Add claims of change (url, kind, said, seen); returns how many are new.

        Claims about unknown pages are ignored.
        """
        self._begin_writing()
        with self._connect(write=True) as connection:
            return signals_table.record(connection, claims)

    def urls(self, page_id: IntArray) -> Sequence[str]:
        with self._connect() as connection:
            connection.register("wanted", _wanted(page_id))
            rows = connection.execute(
                "SELECT url FROM pages JOIN wanted USING (page_id) ORDER BY wanted.row"
            ).fetchnumpy()
        urls = list(rows["url"])
        foreign.require("pages must have each page once", len(urls) == len(page_id))
        web = (isinstance(url, str) and url.startswith(("http://", "https://")) for url in urls)
        foreign.require("pages.url must be an http(s) URL", all(web))
        return urls

    def page_id(self, url: str) -> int | None:
        """The id of a page by its canonical URL."""
        with self._connect() as connection:
            rows = connection.execute("SELECT page_id FROM pages WHERE url = ?", [url]).fetchall()
        return int(rows[0][0]) if rows else None

    def intervals(self, page_id: IntArray, *, never_seen: bool = False) -> Intervals:
        with self._connect() as connection:
            connection.register("wanted", _wanted(page_id))
            rows = connection.execute(_NEVER_SEEN if never_seen else _INTERVALS).fetchnumpy()
        foreign.check_intervals(rows)
        start = np.searchsorted(rows["row"], np.arange(len(page_id) + 1))
        return Intervals(
            start=start.astype(np.int64),
            days=_plain(rows["days"]),
            changed=_plain(rows["changed"]).astype(np.bool_),
            at=_plain(rows["at"]),
            modified=_plain(rows["modified"]),
            **{name: _plain(rows[name]) for name in ("new_internal", "new_external", "links")},
        )

    def texts(self, page_id: IntArray, characters: int | None = None) -> pa.Array:
        n = MAX_CHARACTERS if characters is None else characters
        with self._connect() as connection:
            connection.register("wanted", _wanted(page_id))
            rows: pa.Table = connection.sql(_TEXTS, params=[n]).to_arrow_table()
        foreign.require("contents must have a page once", len(rows) == len(page_id))
        return rows["text"].cast(pa.large_string()).combine_chunks()

    def outlinks(self, page_id: IntArray) -> Outlinks:
        with self._connect() as connection:
            connection.register("wanted", _wanted(page_id))
            rows: pa.Table = connection.sql(_OUTLINKS).to_arrow_table()
        foreign.require("links.target must be filled", rows["target"].null_count == 0)
        named = rows["target"].combine_chunks().dictionary_encode()
        key = keys(named.dictionary.to_pylist())
        start = np.searchsorted(rows["row"].to_numpy(), np.arange(len(page_id) + 1))
        return Outlinks(start.astype(np.int64), key[named.indices.to_numpy()])

    def n_links(self, page_id: IntArray) -> IntArray:
        with self._connect() as connection:
            connection.register("wanted", _wanted(page_id))
            rows = connection.sql(_N_LINKS).fetchnumpy()
        return _plain(rows["n"])

    def first_modified(self, page_id: IntArray) -> FloatArray:
        with self._connect() as connection:
            connection.register("wanted", _wanted(page_id))
            rows = connection.sql(_FIRST_MODIFIED).fetchnumpy()
        modified = np.full(len(page_id), np.nan)
        modified[_plain(rows["row"])] = _plain(rows["modified"])
        return modified

    def validators(self, page_id: IntArray) -> tuple[list[str | None], list[float | None]]:
        """ETag and Last-Modified (seconds) of our copy of each page; None where there is none.

        They come from the visit that brought the copy, or from a 304 since then.
        """
        with self._connect() as connection:
            connection.register("wanted", _wanted(page_id))
            rows = connection.execute(_VALIDATORS).fetchall()
        return [etag for etag, _ in rows], [modified for _, modified in rows]

    def query(self, sql: str, *parameters: object) -> pa.Table:
        """Any read-only SQL over the tables of the store."""
        with self._connect() as connection:
            try:
                return connection.sql(sql, params=parameters).to_arrow_table()
            except (duckdb.ProgrammingError, duckdb.DataError) as error:
                raise BadInput(
                    f'The query failed: {error} (A column "at" needs its quotes.)'
                ) from error

    def summary(self) -> Summary:
        with self._connect() as connection:
            [row] = connection.execute(_SUMMARY).fetchall()
        return Summary(self._detector_name, *row)


def _wanted(page_id: IntArray) -> pa.Table:
    return pa.table({"page_id": page_id, "row": np.arange(len(page_id))})


def _order(page_id: Column) -> Column | slice:
    """The order by id. Rows come in insertion order, unless DuckDB moved updated rows."""
    ids = _plain(page_id)
    return slice(None) if np.all(ids[1:] > ids[:-1]) else np.argsort(ids)


def _plain(column: Any) -> Column:
    """A column without mask: DuckDB returns masked arrays even where there are no nulls."""
    if isinstance(column, np.ma.MaskedArray):
        return column.filled(np.nan) if column.dtype.kind == "f" else column.data
    return np.asarray(column)


def _seconds(column: str) -> str:
    return f"coalesce(epoch_us({column}) / 1e6, 'nan'::DOUBLE) AS {column}"


_PAGES = f"""
SELECT page_id, key, host_id AS host, site_id AS site, {_seconds("first_seen")},
       {_seconds("first_visit")}, {_seconds("last_visit")}, {_seconds("last_attempt")},
       {_seconds("last_change")}, n_visits, n_compared, n_changes, exposure, recent, failures,
       failure, retries, returns, flips, bytes, seconds
FROM pages JOIN hosts USING (host_id)
"""  # noqa: S608
_SIZES = "SELECT (SELECT count(*) FROM hosts), (SELECT count(*) FROM visits)"
_INTERVALS = """
SELECT row, days, changed, epoch_us(visits.at) / 1e6 AS "at",
       coalesce(epoch_us(last_modified) / 1e6, 'nan'::DOUBLE) AS modified,
       -- What is not modified has no new links; but we may never have looked for any.
       status = 304 AND links_at IS NOT NULL AS same_links,
       coalesce(new_internal, if(same_links, 0, NULL), 'nan'::DOUBLE) AS new_internal,
       coalesce(new_external, if(same_links, 0, NULL), 'nan'::DOUBLE) AS new_external,
       coalesce(internal_links + external_links, 'nan'::DOUBLE) AS links
FROM visits JOIN wanted USING (page_id) JOIN pages USING (page_id)
WHERE days IS NOT NULL ORDER BY row, visits.at
"""
_NEVER_SEEN = f"""
WITH intervals AS ({_INTERVALS}),
first AS (
    SELECT DISTINCT ON (target) page_id, internal, first_seen FROM links
    ORDER BY target, first_seen, page_id
),
shown AS (
    SELECT row, epoch_us(first_seen) / 1e6 AS "at",
           count(*) FILTER (internal) AS inside, count(*) FILTER (NOT internal) AS outside
    FROM first JOIN wanted USING (page_id)
    GROUP BY row, first_seen
)
SELECT * REPLACE (
    if(isnan(new_internal), new_internal, coalesce(inside, 0)) AS new_internal,
    if(isnan(new_external), new_external, coalesce(outside, 0)) AS new_external)
FROM intervals LEFT JOIN shown USING (row, "at") ORDER BY row, "at"
"""  # noqa: S608
_TEXTS = """
SELECT left(text, ?) AS text FROM wanted LEFT JOIN contents USING (page_id) ORDER BY row
"""
_OUTLINKS = """
SELECT row, target FROM links JOIN wanted USING (page_id)
WHERE last_seen IS NULL ORDER BY row, target
"""
_N_LINKS = """
SELECT count(target) AS n FROM wanted
LEFT JOIN (SELECT page_id, target FROM links WHERE last_seen IS NULL) USING (page_id)
GROUP BY row ORDER BY row
"""
_FIRST_MODIFIED = """
SELECT row, epoch_us(last_modified) / 1e6 AS modified
FROM visits JOIN wanted USING (page_id) JOIN pages USING (page_id)
WHERE last_modified IS NOT NULL AND visits.at = first_visit
"""
_VALIDATORS = """
WITH seen AS (
    SELECT row, visits.at AS seen_at, status, etag, last_modified
    FROM visits JOIN wanted USING (page_id)
    WHERE status IS NULL OR status BETWEEN 200 AND 299 OR status = 304
), copies AS (
    SELECT row, max(seen_at) AS copied_at FROM seen
    WHERE status IS DISTINCT FROM 304 GROUP BY row
), sent AS (
    SELECT row, max_by(etag, seen_at) FILTER (etag IS NOT NULL) AS etag,
           epoch(max_by(last_modified, seen_at) FILTER (last_modified IS NOT NULL)) AS modified
    FROM seen JOIN copies USING (row) WHERE seen_at >= copied_at GROUP BY row
)
SELECT etag, modified FROM wanted LEFT JOIN sent USING (row) ORDER BY row
"""
_SUMMARY = """
SELECT count(*), coalesce(sum(n_visits), 0), coalesce(sum(n_changes), 0),
       count(*) FILTER (failures > 0), count(DISTINCT host_id),
       epoch(min(first_visit)), epoch(max(last_attempt))
FROM pages
"""
