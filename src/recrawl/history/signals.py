"""What do others say of changes? Claims of sitemaps and feeds, and how often they were right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl.model import Signals

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection as Connection


KEPT = 20  #: claims of one kind about a page, the last ones: some sites make one a day of each


def record(connection: Connection, claims: pa.Table) -> int:
    """Enter claims (url, kind, said, seen) about known pages; the same again adds nothing."""
    connection.execute(_CREATE)
    connection.register("claims", claims)
    [[added]] = connection.execute(_ADD).fetchall()
    connection.execute(_FORGET, [KEPT])
    connection.unregister("claims")
    return int(added)


def read(connection: Connection) -> Signals | None:
    """All that is known of signals; None where there never was one."""
    tables = {row[0] for row in connection.execute("SHOW TABLES").fetchall()}
    if "signals" not in tables:
        return None
    latest = connection.execute(_LATEST).fetchnumpy()
    tally = connection.execute(_TALLY).fetchnumpy()
    return Signals(latest=latest, tally=tally) if len(latest["page_id"]) else None


# As in schema.sql; the first stores were made without it.
_CREATE = """
CREATE TABLE IF NOT EXISTS signals (page_id INTEGER, kind VARCHAR, said TIMESTAMP, seen TIMESTAMP)
"""
_ADD = """
INSERT INTO signals
SELECT page_id, kind, said, seen FROM claims JOIN pages USING (url)
WHERE NOT EXISTS (FROM signals WHERE signals.page_id = pages.page_id
                  AND signals.kind = claims.kind AND signals.said = claims.said)
"""
_FORGET = """
DELETE FROM signals WHERE rowid IN (
    SELECT rowid FROM signals SEMI JOIN (FROM claims JOIN pages USING (url)) USING (page_id)
    QUALIFY row_number() OVER (PARTITION BY page_id, kind ORDER BY seen DESC, said DESC) > ?)
"""
_LATEST = """
SELECT page_id, kind, epoch(max(said)) AS said FROM signals GROUP BY page_id, kind
"""
# Of each compared visit that a signal could have spoken of: did one claim a change since the copy
# compared with, in time to be heard?
_TALLY = """
WITH heard AS (SELECT page_id, kind, min(seen) AS since FROM signals GROUP BY page_id, kind),
told AS (
    SELECT visits.page_id, kind, changed,
           EXISTS (FROM signals WHERE signals.page_id = visits.page_id AND signals.kind = heard.kind
                   AND seen <= visits.at AND said <= visits.at
                   AND said > visits.at - to_microseconds((days * 864e8)::BIGINT)) AS claimed
    FROM visits JOIN heard USING (page_id) WHERE days IS NOT NULL AND visits.at > since)
SELECT host_id AS host, kind,
       count(*) FILTER (changed AND claimed)::DOUBLE AS found,
       count(*) FILTER (changed AND NOT claimed)::DOUBLE AS missed,
       count(*) FILTER (NOT changed AND claimed)::DOUBLE AS false_alarms,
       count(*) FILTER (NOT changed AND NOT claimed)::DOUBLE AS quiet
FROM told JOIN pages USING (page_id) GROUP BY ALL ORDER BY ALL
"""
