"""Adds a batch of visits to the store, in one transaction: whole or not at all."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl import urls
from recrawl.errors import BadInput
from recrawl.history import copies, links_table, moved_table, pages_table
from recrawl.history.arrow import kept, micros, values
from recrawl.history.fold import (
    DIFFERS,
    OK,
    SAME,
    UNKNOWN,
    Folded,
    failure_kinds,
    fold,
    status_outcomes,
)
from recrawl.model import VISITS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from numpy.typing import NDArray

    from recrawl.model import IntArray, Time
    from recrawl.protocols import Detector

#: Columns of VISITS that the table `visits` keeps as given, besides page and time.
KEPT = ["status", "reported", "digest", "digest_of", "simhash", "bytes", "seconds", "skipped"]
KEPT += ["problem", "etag", "last_modified"]
MAX_MICROS = 253_402_300_799_999_999  #: the end of the year 9999


@dataclass(frozen=True)
class Appended:
    """Counts of what a batch added."""

    added: int = 0  #: visits
    known: int = 0  #: visits the store had already
    pages: int = 0  #: new pages
    flips: int = 0  #: visits that showed a page gone, or back again
    changed: int = 0  #: visits that showed a change
    unchanged: int = 0  #: visits that showed none


@dataclass(frozen=True)
class Batch:
    """Visits, and the distinct pages that they are to."""

    visits: pa.Table
    page: NDArray[np.int64]  #: row of each visit in `pages`
    pages: pa.Table  #: url, key, host, site, first_seen


def prepare(visits: pa.Table, now: Time | None) -> Batch:
    """Visits in the form of the store; raises BadInput, and writes nothing."""
    table = _conform(visits)
    coded = table["url"].combine_chunks().dictionary_encode()
    # Different spellings of one URL are one page.
    canonical = pa.array([urls.canonical(u) for u in coded.dictionary.to_pylist()], pa.string())
    distinct = canonical.dictionary_encode()
    page = distinct.indices.to_numpy()[coded.indices.to_numpy()].astype(np.int64)
    names = distinct.dictionary.to_pylist()
    hosts = [urls.host(name) for name in names]
    pages_table = pa.table(
        {
            "url": distinct.dictionary,
            "key": urls.keys(names),
            "host": pa.array(hosts, pa.string()),
            "site": pa.array([urls.site(host) for host in hosts], pa.string()),
            "first_seen": _first_seen(table["at"], page, len(names), now),
        }
    )
    return Batch(table, page, pages_table)


def _conform(visits: pa.Table) -> pa.Table:
    """All VISITS columns in their types, times without zone; a column not given is null."""
    given = visits.column_names
    unknown = set(given) - set(VISITS.names)
    if unknown or "url" not in given:
        raise BadInput(
            "visits must have the column 'url' and otherwise only columns of model.VISITS "
            f"({', '.join(VISITS.names)}). Got: {', '.join(given)}."
        )
    columns = {}
    for field in VISITS:
        kind = pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type
        columns[field.name] = pa.nulls(len(visits), kind)
        if field.name in given:
            columns[field.name] = _cast(visits[field.name], field).cast(kind)
    table = pa.table(columns)
    if table["url"].null_count:
        raise BadInput("visits: 'url' must be filled in every row. Got a null; drop such rows.")
    for name, least, most in (("at", 0, MAX_MICROS), ("status", 0, 999)):
        given = pc.min_max(table[name].cast(pa.int64())).as_py()
        if given["min"] is not None and not least <= given["min"] <= given["max"] <= most:
            rule = "from 1970 to 9999" if name == "at" else "from 0 to 999"
            raise BadInput(
                f"visits: '{name}' must be {rule}. Got {given['min']} to {given['max']}; "
                "drop such rows."
            )
    return table


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise BadInput(
            f"visits: '{field.name}' must be {field.type}. Got {column.type}: {error}."
        ) from error


def _first_seen(at: pa.ChunkedArray, page: IntArray, n: int, now: Time | None) -> pa.Array:
    """The first visit of each page, or `now` where it was only seen."""
    if at.null_count and not (now is not None and 0 <= now < MAX_MICROS / 1e6):
        raise BadInput(
            "visits: a row without 'at' says that a page was seen, not visited; "
            f"append needs `now` to say when. Got now={now!r}; pass the time."
        )
    seen = int((now or 0.0) * 1e6)
    when = values(at.cast(pa.int64()), seen)
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, page, when)
    return pa.array(first).cast(pa.timestamp("us"))


def record(connection: Connection, batch: Batch, detector: Detector) -> Appended:
    """Write a prepared batch; on any error the transaction is rolled back whole."""
    connection.begin()
    try:
        result = _record(connection, batch, detector)
        connection.commit()
    except BaseException:
        with suppress(duckdb.Error):  # an error inside DuckDB has rolled back already
            connection.rollback()
        raise
    return result


def _record(connection: Connection, batch: Batch, detector: Detector) -> Appended:
    page_id, new_pages = pages_table.register(connection, batch.pages)
    given = batch.visits.append_column("page_id", pa.array(page_id[batch.page]))
    given = kept(given, values(pc.is_valid(given["at"])))
    visits = _sorted_distinct(given)
    known = pages_table.load(connection, np.unique(values(visits["page_id"])))
    visits, late = _unseen(connection, visits, known)
    added = len(visits)
    visits = visits.append_column("old", pa.array(np.zeros(added, np.bool_)))
    visits = visits.append_column("was", pa.nulls(added, pa.bool_()))
    if late.size:
        visits = _rewind(connection, visits, known, late)
    folded = _compare_and_fold(connection, visits, known, detector)
    _write(connection, visits, folded, known)
    is_new = ~values(visits["old"])
    flips = int(folded.flipped[is_new].sum())
    changed, unchanged = (int((folded.changed[is_new] == shown).sum()) for shown in (DIFFERS, SAME))
    return Appended(added, len(given) - added, new_pages, flips, changed, unchanged)


def _sorted_distinct(visits: pa.Table) -> pa.Table:
    """Visits by page and time; of two visits to a page at the same time the first given stays."""
    page, at = values(visits["page_id"]), micros(visits["at"])
    order = np.lexsort((at, page))
    page, at = page[order], at[order]
    repeat = np.zeros(len(order), np.bool_)
    repeat[1:] = (page[1:] == page[:-1]) & (at[1:] == at[:-1])
    if not repeat.any() and np.all(order[1:] > order[:-1]):
        return visits
    return visits.take(pa.array(order[~repeat]))


def _unseen(
    connection: Connection, visits: pa.Table, known: pages_table.KnownPages
) -> tuple[pa.Table, IntArray]:
    """The visits that the store does not have, and the pages for which some of them are late.

    A visit is late if it is older than the last attempt that the store knows of.
    """
    page = values(visits["page_id"])
    late = micros(visits["at"]) <= known.state.last_attempt[known.rows(page)]
    if not late.any():
        return visits, page[:0]
    row = pa.array(np.arange(len(page)))
    asked = visits.select(["page_id", "at"]).append_column("row", row).filter(pa.array(late))
    connection.register("asked", asked)
    stored = connection.execute('SELECT row FROM asked SEMI JOIN visits USING (page_id, "at")')
    unseen = np.ones(len(page), np.bool_)
    unseen[stored.fetchnumpy()["row"]] = False
    connection.unregister("asked")
    return kept(visits, unseen), np.unique(page[late & unseen])


def _rewind(
    connection: Connection, visits: pa.Table, known: pages_table.KnownPages, late: IntArray
) -> pa.Table:
    """Reset the state of pages with late visits, and add their stored visits to the batch."""
    connection.register("late", pa.table({"page_id": late}))
    old = connection.sql(
        f'SELECT page_id, "at", {", ".join(KEPT)}, changed AS was, true AS old FROM visits '  # noqa: S608
        "SEMI JOIN late USING (page_id)"
    ).to_arrow_table()
    connection.unregister("late")
    known.rewind(late)
    return _sorted_distinct(pa.concat_tables([visits, old], promote_options="default"))


def _compare_and_fold(
    connection: Connection, visits: pa.Table, known: pages_table.KnownPages, detector: Detector
) -> Folded:
    """What each visit shows; updates `known`."""
    status = values(visits["status"], -1)
    outcome = status_outcomes(status)
    row = known.rows(values(visits["page_id"]))
    is_copy = copies.has_content(visits, outcome, detector)
    differs = copies.differs(connection, visits, row, is_copy, known, detector)
    # What the source reports comes first, then the detector. The text of an older visit is no
    # longer stored, so for it the earlier outcome stands.
    if not set(detector.needs) <= set(KEPT):
        was = values(visits["was"].cast(pa.int8()), UNKNOWN)
        differs = np.where(differs == UNKNOWN, was, differs)
    reported = values(visits["reported"].cast(pa.int8()), UNKNOWN)
    reported = np.where((reported == UNKNOWN) & (status == 304), SAME, reported)
    is_reported = reported != UNKNOWN
    differs = np.where(is_reported, reported, differs)
    size, seconds = visits["bytes"].cast(pa.float64()), visits["seconds"]
    folded = fold(
        known.state, row, micros(visits["at"]), outcome,
        failure_kinds(status, visits["problem"]), differs.astype(np.int8), is_reported,
        is_copy, values(size, np.nan), values(seconds, np.nan),
    )  # fmt: skip
    known.keep_copies(visits, row, is_copy)
    return folded


def _write(
    connection: Connection, visits: pa.Table, folded: Folded, known: pages_table.KnownPages
) -> None:
    old = values(visits["old"])
    outcome = {
        "changed": pa.array(folded.changed == DIFFERS, mask=folded.changed == UNKNOWN),
        "days": pa.array(folded.days, mask=np.isnan(folded.days)),
        "flipped": pa.array(folded.flipped),
    }
    new = kept(visits, ~old)
    # the content of an error page is not that of the page
    succeeded = status_outcomes(values(new["status"], -1)) == OK
    counts = links_table.record(connection, new, succeeded, known)
    facts = new.select(["page_id", "at", *KEPT])
    for name, column in {
        **{n: c.filter(pa.array(~old)) for n, c in outcome.items()},
        **counts,
    }.items():
        facts = facts.append_column(name, column)
    connection.register("facts", facts)
    connection.execute("INSERT INTO visits BY NAME FROM facts")
    connection.unregister("facts")
    if old.any():
        recomputed = pa.table({"page_id": visits["page_id"], "at": visits["at"], **outcome})
        _update_old(connection, recomputed.filter(pa.array(old)))
    copies.keep_contents(connection, kept(new, succeeded))
    moved_table.record(connection, new)
    pages_table.save(connection, known)


def _update_old(connection: Connection, recomputed: pa.Table) -> None:
    """Update older visits whose outcome was recomputed because an earlier visit arrived late."""
    connection.register("recomputed", recomputed)
    connection.execute(
        """UPDATE visits
        SET changed = recomputed.changed, days = recomputed.days, flipped = recomputed.flipped
        FROM recomputed
        WHERE visits.page_id = recomputed.page_id AND visits.at = recomputed.at"""
    )
    connection.unregister("recomputed")
