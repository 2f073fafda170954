"""Which pages are new? Those that seeds, links and sitemaps name and the store does not know."""

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


_LED = pa.schema([("url", pa.string()), ("target", pa.string())])


def read_seeds(lines: Iterable[str]) -> list[str]:
    """Canonical URLs, one a line; empty lines and those that begin with # are passed over."""
    seeds = []
    for number, line in enumerate(lines, 1):
        text = line.strip("\ufeff \t\r\n")  # some editors begin a file with a mark
        if text and not text.startswith("#"):
            try:
                seeds.append(urls.canonical(text))
            except BadUrl as error:
                raise BadInput(f"seeds, line {number}: {error}") from error
    return list(dict.fromkeys(seeds))


class Discovery:
    """Enters new pages into a store, within a scope."""

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
        self.homes: set[str] = set()  #: the hosts from which the scope reaches
        self._heads: set[str] = set()  #: the seeds and where they lead
        self._looked = 0.0  #: links seen before this time have been looked at

    def begin(self, *, now: Time) -> None:
        """Enter the seeds; the hosts of a store are the homes of a crawl that goes on without."""
        if self.scope.depth is not None and not self.seeds:
            raise BadInput(
                "A depth counts links from the seeds, and there are none. Give --seeds again, or "
                "leave --depth out."
            )
        self.store.lead(_LED.empty_table())
        if self.seeds:
            self.store.append(pa.table({"url": self.seeds}), now=now)
            led = self.store.query(_HEADS, self.seeds)["url"].to_pylist()
            self._heads = {*self.seeds, *(url for url in led if not is_private(url))}
            self.homes = {urls.host(url) for url in self._heads}
        else:
            self.homes = set(self.store.query("SELECT host FROM hosts")["host"].to_pylist())
        if not self.homes:
            raise BadInput("A crawl must begin somewhere: the store has no page. Give --seeds.")

    def origins(self) -> list[str]:
        """Scheme and host of the pages known within reach."""
        is_near = self.scope.near(self.homes)
        found = self.store.query(_ORIGINS)["origin"].to_pylist()
        return [origin for origin in found if is_near(urls.host(origin + "/"))]

    def links(self, *, now: Time) -> int:
        """Enter the pages that links lead to; after a restart all links are looked at again."""
        if self.scope.depth is None:
            found = self.store.query(_NEW, int(self._looked * 1e6))
        else:
            found = self.store.query(_NEAR, self.seeds, self.scope.depth)
        entered = self.enter(found["target"].to_pylist(), now=now)
        self._looked = now
        return entered

    def within(self, visits: pa.Table) -> pa.Table:
        """Visits without those pages that they led to (rows without a time) that are not wanted.

        A host that a seed leads to is a home, too; but nobody is led inward, into an intranet.
        """
        made = visits["at"].is_valid()
        names, is_visit = visits["url"].to_pylist(), made.to_pylist()
        led = [(names[i - 1], names[i]) for i in range(1, len(names)) if not is_visit[i]]
        if not led:
            return visits
        self.store.lead(pa.table(list(zip(*led, strict=True)), schema=_LED))
        for source, target in led:
            if source in self._heads and not is_private(target):
                self._heads.add(target)
                self.homes.add(urls.host(target))
        wanted = self._admitted([target for _, target in led])
        return visits.filter(pc.or_(made, pc.is_in(visits["url"], pa.array(wanted, pa.string()))))

    def named(self, found: Sequence[str], *, now: Time) -> int:
        """Enter pages that a site names; who knows how far from the seeds these are?"""
        return self.enter(found, now=now) if self.scope.depth is None else 0

    def enter(self, found: Iterable[str], *, now: Time) -> int:
        """Enter those of some pages that are new and wanted."""
        unknown = self.store.query(_UNKNOWN, list(found))["url"].to_pylist()
        wanted = self._admitted(unknown) if unknown else []
        if not wanted:
            return 0
        return self.store.append(pa.table({"url": wanted}), now=now).pages

    def _admitted(self, found: Sequence[str]) -> list[str]:
        hosts = list({urls.host(url) for url in found})
        known = self.store.query(_KNOWN, hosts).to_pydict()
        counts = dict(zip(known["host"], known["n"], strict=True))
        may = [url for url in found if self.allow_private or not is_private(url)]
        return self.scope.admitted(may, self.homes, counts)


_KNOWN = """
SELECT host, count(*) AS n FROM pages JOIN hosts USING (host_id)
WHERE host IN (SELECT unnest(?::VARCHAR[])) GROUP BY host
"""
_UNKNOWN = """
SELECT DISTINCT found.url FROM (SELECT unnest(?::VARCHAR[]) AS url) AS found
ANTI JOIN pages ON pages.url = found.url ORDER BY found.url
"""
_ORIGINS = """
SELECT DISTINCT split_part(url, '/', 1) || '//' || host AS origin
FROM pages JOIN hosts USING (host_id) ORDER BY origin
"""
_HEADS = """
WITH RECURSIVE head(url) AS (
    SELECT unnest(?::VARCHAR[])
    UNION
    SELECT target FROM head JOIN pages USING (url) JOIN moved USING (page_id))
FROM head
"""
_NEW = """
SELECT DISTINCT target FROM links ANTI JOIN pages ON pages.url = links.target
WHERE NOT nofollow AND first_seen >= make_timestamp(?)
"""
# Pages that are at most so many links away from a seed; where a page leads is no farther than it.
_NEAR = """
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
