"""What do sites say of their pages? Sitemaps and feeds: pages there are, and when they changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from recrawl import urls
from recrawl.model import DAY
from recrawl.page.sitemaps import entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.crawl.discover import Discovery
    from recrawl.fetch import LiveEngine
    from recrawl.history import Store
    from recrawl.model import Time
    from recrawl.page.sitemaps import Entry

MOST_FILES = 50  #: sitemaps of one host that are read
AT_ONCE = 20  #: files held in memory
MOST_DUE = 100  #: hosts, and feeds, looked at in one cycle
MOST_FEEDS = 5  #: of one host
EVERY = DAY  #: between two readings of a host's sitemaps and feeds


class Sitemaps:
    """Reads the sitemaps and feeds of the hosts of a crawl, each once in a while."""

    def __init__(self, store: Store, engine: LiveEngine, discovery: Discovery) -> None:
        self.store = store
        self.engine = engine
        self.discovery = discovery
        self._read: dict[str, Time] = {}

    def read(self, *, now: Time) -> int:
        """Look at those whose turn it is, enter pages and claims; how many pages are new?"""
        new = 0
        origins = self.discovery.origins()
        for found in self._sitemaps(self._due(origins, now)):
            new += self._take("sitemap", found, now)
        for found in self._feeds({urls.host(origin + "/") for origin in origins}, now):
            new += self._take("feed", found, now)
        return new

    def _due(self, names: list[str], now: Time) -> list[str]:
        due = [name for name in names if now - self._read.get(name, -EVERY) >= EVERY][:MOST_DUE]
        self._read |= dict.fromkeys(due, now)
        return due

    def _take(self, kind: str, found: list[Entry], now: Time) -> int:
        claims = [  # today's date is no later than now
            (entry.url, min(entry.changed, now))
            for entry in found
            if entry.changed is not None and 0 <= entry.changed < now + DAY
        ]
        moment = pa.timestamp("us")
        table = {
            "url": pa.array([url for url, _ in claims], pa.string()),
            "kind": pa.array([kind] * len(claims), pa.string()),
            "said": pa.array([round(at * 1e6) for _, at in claims], pa.int64()).cast(moment),
            "seen": pa.array([round(now * 1e6)] * len(claims), pa.int64()).cast(moment),
        }
        with self.store.together():
            new = self.discovery.named([entry.url for entry in found], now=now)
            self.store.claim(pa.table(table))
        return new

    def _sitemaps(self, origins: list[str]) -> Iterator[list[Entry]]:
        """Those a robots.txt names, or the one at the usual place; and those that they name."""
        self.engine.get([f"{origin}/robots.txt" for origin in origins])
        waiting = _Files()
        for origin in origins:
            host = urls.host(origin + "/")
            for name in self.engine.sitemaps(host) or [f"{origin}/sitemap.xml"]:
                waiting.add(name, {host})
        while names := waiting.take():
            for name, kind, found in self._files(names):
                hosts = waiting.hosts[name]
                if kind == "urlset":
                    yield [entry for entry in found if urls.host(entry.url) in hosts]
                elif kind == "sitemapindex":
                    near = hosts | {urls.host(name)}
                    for entry in found:
                        if urls.host(entry.url) in near:
                            waiting.add(entry.url, hosts)

    def _feeds(self, hosts: set[str], now: Time) -> Iterator[list[Entry]]:
        """What the feeds that pages link to, as far as their names tell, name on their own host."""
        linked = self.store.query(_FEEDS, MOST_FEEDS)["target"].to_pylist()
        due = self._due([url for url in linked if urls.host(url) in hosts], now)
        for name, kind, named in self._files(due):
            if kind in ("rss", "feed"):
                yield [entry for entry in named if urls.host(entry.url) == urls.host(name)]

    def _files(self, names: list[str]) -> Iterator[tuple[str, str, list[Entry]]]:
        """Some files, each with its kind and what it names; not too many at once."""
        for begin in range(0, len(names), AT_ONCE):
            asked = names[begin : begin + AT_ONCE]
            for name, answer in zip(asked, self.engine.get(asked), strict=True):
                if 200 <= answer.status < 300:
                    yield name, *entries(answer.body, answer.url)


class _Files:
    """Files to be read, each once, and the hosts each may speak for: those whose file it is."""

    def __init__(self) -> None:
        self.hosts: dict[str, set[str]] = {}
        self._count = Counter[str]()
        self._waiting: list[str] = []

    def add(self, name: str, hosts: set[str]) -> None:
        """Read it on behalf of those of the hosts that have not had their share."""
        mine = {host for host in hosts if self._count[host] < MOST_FILES}
        if name in self.hosts:
            self.hosts[name] |= mine
        elif mine:
            self.hosts[name] = mine
            self._count.update(mine)
            self._waiting.append(name)

    def take(self) -> list[str]:
        taken, self._waiting = self._waiting, []
        return taken


_FEEDS = r"""
SELECT target FROM links
WHERE last_seen IS NULL AND
      regexp_matches(target, '(/feed/?|/rss/?|(rss|atom|feed|index)\.xml|\.rss|\.atom)$')
GROUP BY target QUALIFY row_number() OVER (PARTITION BY split_part(target, '/', 3)
                                           ORDER BY count(*) DESC, target) <= ?
"""
