"""The table `signals`: changes that sitemaps and feeds claim, and how often they are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.history.foreign import require
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
    columns = connection.execute(_READ).fetchnumpy()
    for name, column in columns.items():
        require(f"signals.{name} must be filled", ~np.ma.getmaskarray(column))
        if column.dtype.kind == "f":
            require(f"signals: {name} must be a number", np.isfinite(np.ma.getdata(column)))
    return Signals(**columns) if len(columns["page_id"]) else None


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
# A visit counts if it is compared and after the first claim of a kind. A claim counts for it if the
# claimed change is after the copy that it is compared with, and we had read it before the visit.
_READ = """
WITH heard AS (
    SELECT page_id, kind, min(seen) AS since, epoch(max(said)) AS said,
           count(*) FILTER (last_visit IS NULL OR said > last_visit)::DOUBLE AS claims
    FROM signals JOIN pages USING (page_id) GROUP BY page_id, kind),
told AS (
    SELECT visits.page_id, kind, changed, days,
           (SELECT count(*) FROM signals
            WHERE signals.page_id = visits.page_id AND signals.kind = heard.kind
                  AND seen <= visits.at AND signals.said <= visits.at
                  AND signals.said > visits.at - to_microseconds((days * 864e8)::BIGINT)) AS claims
    FROM visits JOIN heard USING (page_id) WHERE days IS NOT NULL AND visits.at > since),
fared AS (
    SELECT page_id, kind,
           count(*) FILTER (changed)::DOUBLE AS changed,
           count(*) FILTER (changed AND claims = 0)::DOUBLE AS missed,
           coalesce(sum(days) FILTER (changed), 0) AS changed_days,
           coalesce(sum(claims) FILTER (NOT changed), 0)::DOUBLE AS false_claims,
           coalesce(sum(days) FILTER (NOT changed), 0) AS quiet_days
    FROM told GROUP BY page_id, kind)
SELECT page_id, kind, said, claims, coalesce(changed, 0) AS changed, coalesce(missed, 0) AS missed,
       coalesce(changed_days, 0) AS changed_days, coalesce(false_claims, 0) AS false_claims,
       coalesce(quiet_days, 0) AS quiet_days
FROM heard LEFT JOIN fared USING (page_id, kind) ORDER BY page_id, kind
"""
