"""Which pages are new? Those that seeds, links and sitemaps name but the store does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from recrawl import urls
from recrawl.errors import BadInput, BadUrl
from recrawl.fetch.addresses import is_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recrawl.crawl.scope import Scope
    from recrawl.history import Store
    from recrawl.model import Time

OUT_OF_SCOPE = "leads out of scope"  #: problem of a visit whose target is not added


def read_seeds(lines: Iterable[str]) -> list[str]:
    """Canonical URLs, one per line, each once; skips empty lines and comments (#)."""
    seeds = []
    for number, line in enumerate(lines, 1):
        text = line.strip("\ufeff \t\r\n")  # some editors write a byte order mark
        if text and not text.startswith("#"):
            try:
                seeds.append(urls.canonical(text))
            except BadUrl as error:
                raise BadInput(f"seeds, line {number}: {error}") from error
    return list(dict.fromkeys(seeds))


class Discovery:
    """Adds new pages to a store, within a scope."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        seeds: Sequence[str] = (),
        *,
        allow_private: bool = False,
    ) -> None:
        self.store = store
        self.scope = scope
        self.seeds = list(seeds)
        self.allow_private = allow_private
        self.home_hosts: set[str] = set()  #: the scope is relative to these
        self._seed_pages: set[str] = set()  #: the seeds and the pages they redirect to
        self._links_read_until = 0.0  #: links first seen before this time are done

    def start(self, *, now: Time) -> None:
        """Add the seeds; without seeds, the hosts of the store are the home hosts."""
        if self.scope.depth is not None and not self.seeds:
            raise BadInput(
                "A depth counts links from the seeds, and there are none. Give --seeds again, or "
                "omit --depth."
            )
        if self.seeds:
            self.store.append(pa.table({"url": self.seeds}), now=now)
            reached = self.store.query(_SEED_PAGES, self.seeds)["url"].to_pylist()
            self._seed_pages = {*self.seeds, *(url for url in reached if not is_private(url))}
            self.home_hosts = {urls.host(url) for url in self._seed_pages}
        else:
            self.home_hosts = set(self.store.query("SELECT host FROM hosts")["host"].to_pylist())
        if not self.home_hosts:
            raise BadInput("A crawl must start somewhere: the store has no page. Give --seeds.")

    def origins(self) -> list[str]:
        """Scheme and host of the known pages whose host is in scope."""
        in_reach = self.scope.host_test(self.home_hosts)
        origins = self.store.query(_ORIGINS)["origin"].to_pylist()
        return [origin for origin in origins if in_reach(urls.host(origin + "/"))]

    def add_linked(self, *, now: Time) -> int:
        """Add the targets of links. Returns how many; the first call reads all links."""
        if self.scope.depth is None:
            targets = self.store.query(_NEW_TARGETS, int(self._links_read_until * 1e6))
        else:
            targets = self.store.query(_TARGETS_IN_DEPTH, self.seeds, self.scope.depth)
        added = self.add(targets["target"].to_pylist(), now=now)
        self._links_read_until = now
        return added

    def filter_visits(self, visits: pa.Table) -> pa.Table:
        """Visits without the redirect targets (rows without `at`) that are out of scope.

        The visits that lead there have the `problem` OUT_OF_SCOPE. The host that a seed redirects
        to becomes a home host, unless its address is private.
        """
        leads_to = visits["leads_to"]
        leading = visits.filter(leads_to.is_valid())
        if not len(leading):
            return visits
        targets = leading["leads_to"].to_pylist()
        for source, target in zip(leading["url"].to_pylist(), targets, strict=True):
            if source in self._seed_pages and not is_private(target):
                self._seed_pages.add(target)
                self.home_hosts.add(urls.host(target))
        wanted = pa.array(self._in_scope(targets), pa.string())
        leads_out = pc.and_(leads_to.is_valid(), pc.invert(pc.is_in(leads_to, wanted)))
        problem = pc.if_else(leads_out, OUT_OF_SCOPE, visits["problem"])
        visits = visits.set_column(visits.column_names.index("problem"), "problem", problem)
        return visits.filter(pc.or_(visits["at"].is_valid(), pc.is_in(visits["url"], wanted)))

    def add_named(self, pages: Sequence[str], *, now: Time) -> int:
        """Add pages that a site names; none with a depth, as their distance is unknown."""
        return self.add(pages, now=now) if self.scope.depth is None else 0

    def add(self, pages: Iterable[str], *, now: Time) -> int:
        """Add the pages that are new and in scope. Returns how many."""
        unknown = self.store.query(_UNKNOWN, list(pages))["url"].to_pylist()
        wanted = self._in_scope(unknown) if unknown else []
        if not wanted:
            return 0
        return self.store.append(pa.table({"url": wanted}), now=now).pages

    def _in_scope(self, pages: Sequence[str]) -> list[str]:
        hosts = list({urls.host(url) for url in pages})
        known = self.store.query(_PAGES_PER_HOST, hosts).to_pydict()
        counts = dict(zip(known["host"], known["n"], strict=True))
        allowed = [url for url in pages if self.allow_private or not is_private(url)]
        return self.scope.select(allowed, self.home_hosts, counts)


_PAGES_PER_HOST = """
SELECT host, count(*) AS n FROM pages JOIN hosts USING (host_id)
WHERE host IN (SELECT unnest(?::VARCHAR[])) GROUP BY host
"""
_UNKNOWN = """
SELECT DISTINCT named.url FROM (SELECT unnest(?::VARCHAR[]) AS url) AS named
ANTI JOIN pages ON pages.url = named.url ORDER BY named.url
"""
_ORIGINS = """
SELECT DISTINCT split_part(url, '/', 1) || '//' || host AS origin
FROM pages JOIN hosts USING (host_id) ORDER BY origin
"""
_SEED_PAGES = """
WITH RECURSIVE reached(url) AS (
    SELECT unnest(?::VARCHAR[])
    UNION
    SELECT target FROM reached JOIN pages USING (url) JOIN moved USING (page_id))
FROM reached
"""
_NEW_TARGETS = """
SELECT DISTINCT target FROM links ANTI JOIN pages ON pages.url = links.target
WHERE NOT nofollow AND first_seen >= make_timestamp(?)
"""
# Unknown pages within a number of links from a seed; following a redirect counts as no link.
_TARGETS_IN_DEPTH = """
WITH RECURSIVE edges AS MATERIALIZED (
    SELECT page_id, target, 1 AS length FROM links WHERE NOT nofollow
    UNION ALL
    SELECT page_id, target, 0 FROM moved),
near(url, depth) USING KEY (url) AS (
    SELECT unnest(?::VARCHAR[]), 0
    UNION
    SELECT target, min(near.depth + length)
    FROM near JOIN pages USING (url) JOIN edges USING (page_id)
    LEFT JOIN recurring.near AS best ON best.url = target
    WHERE near.depth + length <= ?
    AND (best.depth IS NULL OR near.depth + length < best.depth)
    GROUP BY target)
SELECT url AS target FROM near ANTI JOIN pages USING (url)
"""
