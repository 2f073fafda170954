"""What do sites say about their pages? Sitemaps and feeds: which exist and when they changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from recrawl import urls
from recrawl.model import DAY
from recrawl.page.sitemaps import read_sitemap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.crawl.discover import Discovery
    from recrawl.fetch import LiveEngine
    from recrawl.history import Store
    from recrawl.model import Time
    from recrawl.page.sitemaps import SitemapEntry

MAX_FILES_PER_HOST = 50  #: sitemaps read for one host
MAX_FILES_IN_MEMORY = 20
MAX_DUE_PER_CYCLE = 100  #: hosts, and feeds, read in one cycle
MAX_FEEDS_PER_HOST = 5
READ_EVERY = DAY  #: seconds between two readings of a host's sitemaps and feeds


class SitemapReader:
    """Reads the sitemaps and feeds of the hosts of a crawl, each once a day."""

    def __init__(self, store: Store, engine: LiveEngine, discovery: Discovery) -> None:
        self.store = store
        self.engine = engine
        self.discovery = discovery
        self._read_at: dict[str, Time] = {}

    def read(self, *, now: Time) -> int:
        """Read those that are due, store pages and claims. Returns how many pages are new."""
        new = 0
        origins = self.discovery.origins()
        for entries in self._sitemaps(self._due(origins, now)):
            new += self._store_entries("sitemap", entries, now)
        for entries in self._feeds({urls.host(origin + "/") for origin in origins}, now):
            new += self._store_entries("feed", entries, now)
        return new

    def _due(self, names: list[str], now: Time) -> list[str]:
        due = [name for name in names if now - self._read_at.get(name, -READ_EVERY) >= READ_EVERY]
        due = due[:MAX_DUE_PER_CYCLE]
        self._read_at |= dict.fromkeys(due, now)
        return due

    def _store_entries(self, kind: str, entries: list[SitemapEntry], now: Time) -> int:
        claims = [  # a date of today counts as now
            (entry.url, min(entry.changed, now))
            for entry in entries
            if entry.changed is not None and 0 <= entry.changed < now + DAY
        ]
        micros = pa.timestamp("us")
        table = {
            "url": pa.array([url for url, _ in claims], pa.string()),
            "kind": pa.array([kind] * len(claims), pa.string()),
            "said": pa.array([round(at * 1e6) for _, at in claims], pa.int64()).cast(micros),
            "seen": pa.array([round(now * 1e6)] * len(claims), pa.int64()).cast(micros),
        }
        with self.store.together():
            new = self.discovery.add_named([entry.url for entry in entries], now=now)
            self.store.claim(pa.table(table))
        return new

    def _sitemaps(self, origins: list[str]) -> Iterator[list[SitemapEntry]]:
        """Entries of each sitemap: those in robots.txt or /sitemap.xml, and those they name."""
        self.engine.get([f"{origin}/robots.txt" for origin in origins])
        waiting = _SitemapQueue()
        for origin in origins:
            host = urls.host(origin + "/")
            for name in self.engine.sitemaps(host) or [f"{origin}/sitemap.xml"]:
                waiting.add(name, {host})
        while names := waiting.take():
            for name, kind, entries in self._files(names):
                hosts = waiting.hosts[name]
                if kind == "urlset":
                    yield [entry for entry in entries if urls.host(entry.url) in hosts]
                elif kind == "sitemapindex":
                    allowed = hosts | {urls.host(name)}
                    for entry in entries:
                        if urls.host(entry.url) in allowed:
                            waiting.add(entry.url, hosts)

    def _feeds(self, hosts: set[str], now: Time) -> Iterator[list[SitemapEntry]]:
        """Entries of each feed that pages link to, limited to pages on the host of the feed."""
        linked = self.store.query(_FEEDS, MAX_FEEDS_PER_HOST)["target"].to_pylist()
        due = self._due([url for url in linked if urls.host(url) in hosts], now)
        for name, kind, entries in self._files(due):
            if kind in ("rss", "feed"):
                yield [entry for entry in entries if urls.host(entry.url) == urls.host(name)]

    def _files(self, names: list[str]) -> Iterator[tuple[str, str, list[SitemapEntry]]]:
        """URL, kind and entries of each file that can be fetched."""
        for start in range(0, len(names), MAX_FILES_IN_MEMORY):
            chunk = names[start : start + MAX_FILES_IN_MEMORY]
            for name, result in zip(chunk, self.engine.get(chunk), strict=True):
                if 200 <= result.status < 300:
                    yield name, *read_sitemap(result.body, result.url)


class _SitemapQueue:
    """Sitemaps to read, each once, with the hosts whose pages each may name."""

    def __init__(self) -> None:
        self.hosts: dict[str, set[str]] = {}
        self._count = Counter[str]()
        self._waiting: list[str] = []

    def add(self, name: str, hosts: set[str]) -> None:
        """Queue a file for those of the hosts that have not reached MAX_FILES_PER_HOST."""
        mine = {host for host in hosts if self._count[host] < MAX_FILES_PER_HOST}
        if name in self.hosts:
            self.hosts[name] |= mine
        elif mine:
            self.hosts[name] = mine
            self._count.update(mine)
            self._waiting.append(name)

    def take(self) -> list[str]:
        """All files in the queue, which is empty afterwards."""
        taken, self._waiting = self._waiting, []
        return taken


_FEEDS = r"""
SELECT target FROM links
WHERE last_seen IS NULL AND
      regexp_matches(target, '(/feed/?|/rss/?|(rss|atom|feed|index)\.xml|\.rss|\.atom)$')
GROUP BY target QUALIFY row_number() OVER (PARTITION BY split_part(target, '/', 3)
                                           ORDER BY count(*) DESC, target) <= ?
"""
