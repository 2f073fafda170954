"""The table `links`. A link is new if the copy before did not have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.history.arrow import micros, values

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from recrawl.history.pages_table import KnownPages
    from recrawl.model import BoolArray, IntArray

COUNTS = ("internal_links", "external_links", "new_internal", "new_external")


def record(
    connection: Connection, visits: pa.Table, succeeded: BoolArray, known: KnownPages
) -> dict[str, pa.Array]:
    """Add the links of these visits (sorted by page and time); returns their counts.

    The counts are null for visits without links, and for those older than the stored links.
    """
    at = micros(visits["at"])
    row = known.rows(values(visits["page_id"]))
    has_links = succeeded & values(pc.is_valid(visits["links"])) & (at > known.links_at[row])
    counts = {name: np.full(len(visits), -1, np.int32) for name in COUNTS}
    if has_links.any():
        _snapshots(connection, visits, known, np.flatnonzero(has_links))
        counted = connection.execute(_COUNT).fetchnumpy()
        for name in COUNTS:
            counts[name][counted["visit"]] = np.ma.filled(counted[name], -1)
        connection.execute(_END)
        connection.execute(_BEGIN)
        for table in ("snapshot", "present", "run"):
            connection.execute(f"DROP TABLE {table}")
        np.maximum.at(known.links_at, row[has_links], at[has_links])
    return {n: pa.array(c, mask=c < 0) for n, c in counts.items()}


def _snapshots(
    connection: Connection, visits: pa.Table, known: KnownPages, visit: IntArray
) -> None:
    """Number each page's visits that have links: 0 is our copy, then 1, 2, … by time."""
    taken = visits.select(["page_id", "at", "links", "nofollow"]).take(pa.array(visit))
    taken = taken.append_column("visit", pa.array(visit))
    connection.register("taken", taken)
    held = {"page_id": known.page_id, "url": known.url, "links_at": known.links_at}
    connection.register("held", pa.table(held))
    for statement in (_SNAPSHOT, _PRESENT, _RUN):
        connection.execute(statement)
    connection.unregister("taken")
    connection.unregister("held")


# One row per visit with links, numbered within its page from 1.
_SNAPSHOT = """
CREATE TEMP TABLE snapshot AS
SELECT page_id, visit, "at", links, nofollow, links_at > -9223372036854775808 AS has_copy,
       CASE WHEN has_copy THEN make_timestamp(links_at) END AS copy_at,
       url[: 8 + instr(url[9:], '/')] AS origin, -- "https://host/": a prefix of internal targets
       row_number() OVER (PARTITION BY page_id ORDER BY "at") AS number,
       count(*) OVER (PARTITION BY page_id) AS last
FROM taken JOIN held USING (page_id)
"""
# One row per link on a snapshot; number 0 is the copy in the store.
_PRESENT = """
CREATE TEMP TABLE present AS
SELECT DISTINCT ON (page_id, number, target) * FROM (
    SELECT page_id, number, "at", unnest(links) AS target, unnest(nofollow) AS nofollow
    FROM snapshot
    UNION ALL
    SELECT page_id, 0, copy_at, target, nofollow
    FROM links JOIN (SELECT DISTINCT page_id, copy_at FROM snapshot) USING (page_id)
    WHERE last_seen IS NULL)
WHERE target IS NOT NULL
"""
# One row for each unbroken run of snapshots that a link was on.
_RUN = """
CREATE TEMP TABLE run AS
WITH numbered AS (
    SELECT *, number - row_number() OVER (PARTITION BY page_id, target ORDER BY number) AS run
    FROM present)
SELECT page_id, target, min(number) AS began, max(number) AS ended,
       min("at") AS first_seen, max("at") AS last_seen, arg_max(nofollow, number) AS nofollow
FROM numbered GROUP BY page_id, target, run
"""
_COUNT = """
WITH sized AS (
    SELECT page_id, number, count(*) FILTER (starts_with(target, origin)) AS internal,
           count(*) AS every
    FROM present JOIN snapshot USING (page_id, number) GROUP BY ALL),
grown AS (
    SELECT run.page_id, began AS number, count(*) FILTER (starts_with(target, origin)) AS internal,
           count(*) AS every
    FROM run JOIN snapshot ON run.page_id = snapshot.page_id AND began = number GROUP BY ALL)
SELECT visit,
       coalesce(sized.internal, 0) AS internal_links,
       coalesce(sized.every - sized.internal, 0) AS external_links,
       CASE WHEN has_copy OR number > 1 THEN coalesce(grown.internal, 0) END AS new_internal,
       CASE WHEN has_copy OR number > 1 THEN coalesce(grown.every - grown.internal, 0) END
           AS new_external
FROM snapshot LEFT JOIN sized USING (page_id, number) LEFT JOIN grown USING (page_id, number)
"""
_END = """
UPDATE links SET last_seen = run.last_seen
FROM run JOIN (SELECT DISTINCT page_id, last FROM snapshot) USING (page_id)
WHERE links.page_id = run.page_id AND links.target = run.target AND links.last_seen IS NULL
      AND began = 0 AND ended < last
"""
_BEGIN = """
INSERT INTO links BY NAME
SELECT page_id, target, starts_with(target, origin) AS internal,
       coalesce(nofollow, false) AS nofollow, first_seen,
       CASE WHEN ended < last THEN last_seen END AS last_seen
FROM run JOIN (SELECT DISTINCT page_id, last, origin FROM snapshot) USING (page_id)
WHERE began > 0
"""
