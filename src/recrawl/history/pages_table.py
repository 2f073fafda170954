"""The tables `pages` and `hosts`: ids of pages, and what is known of those in a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recrawl.history import foreign
from recrawl.history.arrow import micros, times, values
from recrawl.history.fold import COUNTS, TIMES, PageState

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, IntArray


@dataclass
class KnownPages:
    """What the store knows of some pages, sorted by id: folded columns, and the stored copy."""

    page_id: NDArray[np.int32]
    url: pa.Array
    state: PageState
    copy: pa.Table  #: digest, digest_of, simhash
    links_at: NDArray[np.int64]
    rewound: BoolArray  #: reset, to be folded again from the first visit

    def rows(self, page_id: IntArray) -> NDArray[np.int64]:
        """The rows of these pages in `state`."""
        return np.searchsorted(self.page_id, page_id)

    def keep_copies(self, visits: pa.Table, row: IntArray, is_copy: BoolArray) -> None:
        """Replace the copy of each page by its last content in `visits`, sorted by time."""
        copies = np.flatnonzero(is_copy)
        source = np.arange(len(self.page_id))
        source[row[copies]] = len(self.page_id) + np.arange(len(copies))
        newer = visits.select(self.copy.column_names).take(pa.array(copies))
        self.copy = pa.concat_tables([self.copy.cast(newer.schema), newer]).take(pa.array(source))

    def rewind(self, page_id: IntArray) -> None:
        """Reset the state of some pages."""
        rows, empty = self.rows(page_id), PageState.empty(1).columns()
        for name, column in self.state.columns().items():
            column[rows] = empty[name][0]
        self.rewound[rows] = True
        self.copy = self.copy.take(pa.array(np.arange(len(self.rewound)), mask=self.rewound))


def register(connection: Connection, pages: pa.Table) -> tuple[NDArray[np.int32], int]:
    """Add the pages that are new (url, key, host, site, first_seen).

    Returns the id of each page and the number of new ones.
    """
    connection.register("given", pages.append_column("row", pa.array(np.arange(len(pages)))))
    stored = connection.execute(
        """SELECT row, page_id, given.first_seen < pages.first_seen AS earlier
        FROM given JOIN pages USING (key, url)"""
    ).fetchnumpy()
    count = _count(connection, "pages")
    known = np.ma.filled(stored["page_id"], -1)
    foreign.require("pages.page_id must be 0, 1, 2, …", known >= 0, known < count)
    page_id = np.full(len(pages), -1, np.int32)
    page_id[stored["row"]] = known
    if stored["earlier"].any():
        connection.execute(
            """UPDATE pages SET first_seen = least(given.first_seen, pages.first_seen)
            FROM given WHERE pages.key = given.key AND pages.url = given.url"""
        )
    new = np.flatnonzero(page_id < 0)
    if new.size:
        page_id[new] = count + np.arange(len(new))
        _insert(connection, pages.take(pa.array(new)), page_id[new])
    connection.unregister("given")
    return page_id, len(new)


def _insert(connection: Connection, pages: pa.Table, page_id: NDArray[np.int32]) -> None:
    _insert_hosts(connection, pages)
    connection.register("inserted", pages.append_column("page_id", pa.array(page_id)))
    zero = ", ".join(f"0 AS {name}" for name in (*COUNTS, "exposure", "recent", "failure"))
    connection.execute(
        f"""INSERT INTO pages BY NAME
        SELECT page_id, url, key, host_id, first_seen, {zero}, false AS gone
        FROM inserted JOIN hosts USING (host) ORDER BY page_id"""  # noqa: S608
    )
    connection.unregister("inserted")


def _insert_hosts(connection: Connection, pages: pa.Table) -> None:
    """Insert new hosts, numbered in order of arrival; a site has the number of its first host."""
    connection.register("inserted", pages)
    connection.execute(
        """INSERT INTO hosts
        WITH new AS (
            SELECT host, any_value(site) AS site FROM inserted
            WHERE host NOT IN (SELECT host FROM hosts) GROUP BY host),
        numbered AS (
            SELECT (SELECT count(*) FROM hosts) + row_number() OVER (ORDER BY host) - 1 AS host_id,
                   host, site FROM new)
        SELECT host_id, host,
               coalesce((SELECT min(h.site_id) FROM hosts h WHERE h.site = numbered.site),
                        min(host_id) OVER (PARTITION BY site)), site
        FROM numbered"""
    )
    connection.unregister("inserted")


def _count(connection: Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])  # noqa: S608


def load(connection: Connection, page_id: NDArray[np.int32]) -> KnownPages:
    """What the store knows of some pages; `page_id` is sorted."""
    connection.register("wanted", pa.table({"page_id": page_id}))
    stored = connection.sql(_LOAD).to_arrow_table()
    connection.unregister("wanted")
    _check(stored, page_id)
    columns = {name: values(stored[name], np.nan) for name in ("bytes", "seconds")}
    columns |= {name: micros(stored[name]) for name in TIMES}
    columns |= {
        name: values(stored[name]) for name in (*COUNTS, "exposure", "recent", "failure", "gone")
    }
    copy = stored.select(["digest", "digest_of", "simhash"])
    url = stored["url"].combine_chunks()
    rewound = np.zeros(len(page_id), np.bool_)
    return KnownPages(page_id, url, PageState(**columns), copy, micros(stored["links_at"]), rewound)


def _check(stored: pa.Table, page_id: NDArray[np.int32]) -> None:
    foreign.check_ids(values(stored["page_id"], -1), page_id)
    for name in ("url", *COUNTS, "exposure", "recent", "gone"):
        foreign.require(f"pages.{name} must be filled", stored[name].null_count == 0)
    for name in (*COUNTS, "exposure"):
        foreign.require(f"pages.{name} must be 0 or more", values(stored[name]) >= 0)


def save(connection: Connection, known: KnownPages) -> None:
    """Write back the columns of these pages."""
    columns: dict[str, object] = dict(known.state.columns())
    for name in TIMES:
        columns[name] = times(columns[name])  # type: ignore[arg-type]
    for name in ("bytes", "seconds"):
        columns[name] = pa.array(columns[name], from_pandas=True)  # NaN is null
    columns["links_at"] = times(known.links_at)
    table = pa.table({"page_id": known.page_id, **columns})
    for name in known.copy.column_names:
        table = table.append_column(name, known.copy[name])
    connection.register("folded", table)
    changes = ", ".join(f"{n} = folded.{n}" for n in table.column_names if n != "page_id")
    connection.execute(
        f"UPDATE pages SET {changes} FROM folded WHERE pages.page_id = folded.page_id"  # noqa: S608
    )
    connection.unregister("folded")


_LOAD = "SELECT pages.* FROM pages JOIN wanted USING (page_id) ORDER BY page_id"
