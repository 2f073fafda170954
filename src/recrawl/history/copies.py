"""Our copies of pages: what a visit is compared with, and the table `contents`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.history.arrow import kept, values
from recrawl.history.fold import OK, UNKNOWN, Small

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from numpy.typing import NDArray

    from recrawl.history.pages_table import KnownPages
    from recrawl.model import BoolArray, IntArray
    from recrawl.protocols import Detector


def has_content(visits: pa.Table, outcome: Small, detector: Detector) -> BoolArray:
    """Which visits have something that the detector can compare."""
    has = np.zeros(len(visits), np.bool_)
    for name in detector.needs:
        if name != "digest_of":  # it only names the kind of the digest
            has |= values(pc.is_valid(visits[name]))
    has &= outcome == OK
    return has


def differs(
    connection: Connection,
    visits: pa.Table,
    row: IntArray,
    is_copy: BoolArray,
    known: KnownPages,
    detector: Detector,
) -> Small:
    """Whether each visit differs from the copy before it: SAME, DIFFERS or UNKNOWN."""
    result = np.full(len(visits), UNKNOWN, np.int8)
    copies = np.flatnonzero(is_copy)
    if not copies.size:
        return result
    needs = list(detector.needs)
    after = visits.select(needs).take(pa.array(copies))
    stored = stored_copies(connection, known, needs)
    # The stored copies come first, so that a page's row in `known` is its row here.
    both = pa.concat_tables([stored.cast(after.schema), after])
    changed = detector.changed(both.take(pa.array(_before(row[copies], len(known.page_id)))), after)
    result[copies] = values(changed.cast(pa.int8()), UNKNOWN)
    return result


def _before(row: IntArray, n_stored: int) -> NDArray[np.int64]:
    """The row of the copy before each copy (sorted by page): the one above, or the stored one."""
    before = n_stored + np.arange(len(row)) - 1
    first = np.ones(len(row), np.bool_)
    first[1:] = row[1:] != row[:-1]
    return np.where(first, row, before)


def stored_copies(connection: Connection, known: KnownPages, needs: list[str]) -> pa.Table:
    """The stored copies of these pages, in their order."""
    held = {name: known.copy[name] for name in needs if name in known.copy.column_names}
    if len(held) < len(needs):
        connection.register("wanted", pa.table({"page_id": known.page_id}))
        stored = connection.sql(_COPIES).to_arrow_table()
        connection.unregister("wanted")
        held |= {name: stored[name] for name in needs if name not in held}
    # The stored copy of a rewound page is newer than the visits that will be compared.
    rows = pa.array(np.arange(len(known.page_id)), mask=known.rewound)
    return pa.table({name: held[name] for name in needs}).take(rows)


def keep_contents(connection: Connection, visits: pa.Table) -> None:
    """Replace the stored copy of every page that has a newer one in `visits`."""
    texts = visits.select(["page_id", "at", "title", "text"])
    texts = kept(texts, values(pc.is_valid(texts["text"])))
    if not len(texts):
        return
    page = values(texts["page_id"])
    last = np.append(page[1:] != page[:-1], True)
    connection.register("texts", kept(texts, last))
    connection.execute(_FORGET)
    connection.execute("INSERT INTO contents FROM texts ANTI JOIN contents USING (page_id)")
    connection.unregister("texts")


_FORGET = """
DELETE FROM contents USING texts
WHERE contents.page_id = texts.page_id AND contents.at < texts.at
"""
_COPIES = """
SELECT contents.title, contents.text,
       CASE WHEN links_at IS NOT NULL THEN coalesce(present.links, []) END AS links
FROM wanted
JOIN pages USING (page_id)
LEFT JOIN contents USING (page_id)
LEFT JOIN (SELECT page_id, list(target) AS links FROM links SEMI JOIN wanted USING (page_id)
           WHERE last_seen IS NULL GROUP BY page_id) AS present USING (page_id)
ORDER BY wanted.page_id
"""
