"""The table `signals`: changes that sitemaps and feeds claim, and how often they are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl.model import Signals

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection as Connection


CLAIMS_KEPT = 20  #: the last ones of each kind and page; some sites claim a change every day


def record(connection: Connection, claims: pa.Table) -> int:
    """Add claims (url, kind, said, seen) about known pages; returns how many are new."""
    connection.register("claims", claims)
    [[added]] = connection.execute(_ADD).fetchall()
    connection.execute(_FORGET, [CLAIMS_KEPT])
    connection.unregister("claims")
    return int(added)


def read(connection: Connection) -> Signals | None:
    """The claims and how they fared; None if there are no claims."""
    tables = {row[0] for row in connection.execute("SHOW TABLES").fetchall()}
    if "signals" not in tables:
        return None
    latest = connection.execute(_LATEST).fetchnumpy()
    tally = connection.execute(_TALLY).fetchnumpy()
    return Signals(latest=latest, tally=tally) if len(latest["page_id"]) else None


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
# For each compared visit after the first claim of a kind: was a change claimed since the copy that
# it is compared with, and had we read the claim before the visit?
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
