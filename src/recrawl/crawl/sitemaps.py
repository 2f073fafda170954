"""What do sites say about their pages? Sitemaps and feeds: which exist and when they changed.

They are read while pages are fetched, each host in its own turn and within its own time, so a slow
host delays nobody.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from recrawl import urls
from recrawl.model import DAY
from recrawl.page.sitemaps import read_sitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from recrawl.crawl.discover import Discovery
    from recrawl.fetch import FetchResult, LiveEngine
    from recrawl.history import Store
    from recrawl.model import Time
    from recrawl.page.sitemaps import SitemapEntry

MAX_FILES_PER_HOST = 50  #: sitemaps read for one host
MAX_HOST_SECONDS = 300.0  #: for the files of one host; those read by then count
MAX_HOSTS_AT_ONCE = 16
MAX_FILES_IN_MEMORY = 4  #: parsed, and not yet stored
MAX_DUE_PER_CYCLE = 100  #: hosts, and feeds, read in one cycle
MAX_FEEDS_PER_HOST = 5
READ_EVERY = DAY  #: seconds between two readings of a host's sitemaps and feeds
_WAIT_SECONDS = 0.2  #: a request to stop is noticed within this time


class _File(NamedTuple):
    """What a sitemap or feed says of the pages of one host."""

    kind: str
    entries: list[SitemapEntry]


class SitemapReader:
    """Reads the sitemaps and feeds of the hosts of a crawl, each once a day, beside the pages.

    `begin` starts the reading, in the thread of the engine; `store_read` stores what has come.
    """

    def __init__(self, store: Store, engine: LiveEngine, discovery: Discovery) -> None:
        self.store = store
        self.engine = engine
        self.discovery = discovery
        self._read_at: dict[str, Time] = {}
        self._read: SimpleQueue[_File] = SimpleQueue()
        self._hosts = asyncio.Semaphore(MAX_HOSTS_AT_ONCE)
        self._memory = asyncio.Semaphore(MAX_FILES_IN_MEMORY)
        self._readings: list[Future[None]] = []

    def begin(self, *, now: Time) -> None:
        """Start to read those that are due."""
        origins = self.discovery.origins()
        hosts = {urls.host(origin + "/") for origin in origins}
        due_origins, due_feeds = defaultdict(list), defaultdict(list)
        for origin in self._due(origins, now):
            due_origins[urls.host(origin + "/")].append(origin)
        linked = self.store.query(_FEEDS, MAX_FEEDS_PER_HOST)["target"].to_pylist()
        for feed in self._due([url for url in linked if urls.host(url) in hosts], now):
            due_feeds[urls.host(feed)].append(feed)
        for host in due_origins | due_feeds:
            reading = self._read_host(host, due_origins[host], due_feeds[host])
            self._readings.append(self.engine.run_beside(reading))

    def store_read(self, *, now: Time) -> int:
        """Store the pages and claims of the files read so far. Returns how many pages are new."""
        new = 0
        with suppress(Empty):
            while True:
                file = self._read.get_nowait()
                new += self._store_entries(file, now)
                self.engine.call_beside(self._memory.release)
        return new

    def finish(self, *, clock: Callable[[], Time], until: Time) -> int:
        """Store what is being read, until all is or a time has come. Returns the new pages."""
        new = 0
        while self._readings and clock() < until:
            with suppress(TimeoutError):
                self._readings[0].result(timeout=_WAIT_SECONDS)
                del self._readings[0]
            new += self.store_read(now=clock())
        return new + self.store_read(now=clock())

    def close(self) -> None:
        """Read no more."""
        for reading in self._readings:
            reading.cancel()

    def _due(self, names: list[str], now: Time) -> list[str]:
        due = [name for name in names if now - self._read_at.get(name, -READ_EVERY) >= READ_EVERY]
        due = due[:MAX_DUE_PER_CYCLE]
        self._read_at |= dict.fromkeys(due, now)
        return due

    def _store_entries(self, file: _File, now: Time) -> int:
        claims = [  # a date of today counts as now
            (entry.url, min(entry.changed, now))
            for entry in file.entries
            if entry.changed is not None and 0 <= entry.changed < now + DAY
        ]
        micros = pa.timestamp("us")
        table = {
            "url": pa.array([url for url, _ in claims], pa.string()),
            "kind": pa.array([file.kind] * len(claims), pa.string()),
            "said": pa.array([round(at * 1e6) for _, at in claims], pa.int64()).cast(micros),
            "seen": pa.array([round(now * 1e6)] * len(claims), pa.int64()).cast(micros),
        }
        with self.store.together():
            new = self.discovery.add_named([entry.url for entry in file.entries], now=now)
            self.store.claim(pa.table(table))
        return new

    # In the thread of the engine

    async def _read_host(self, host: str, origins: list[str], feeds: list[str]) -> None:
        async with self._hosts:
            with suppress(TimeoutError):
                async with asyncio.timeout(MAX_HOST_SECONDS):
                    if origins:
                        await self._read_sitemaps(host, origins)
                    for feed in feeds:
                        await self._read_file(feed, host, "feed")

    async def _read_sitemaps(self, host: str, origins: list[str]) -> None:
        """The files that robots.txt names, or /sitemap.xml, and those that they name."""
        for origin in origins:
            await self._get(f"{origin}/robots.txt")
        named = self.engine.sitemaps(host) or [f"{origin}/sitemap.xml" for origin in origins]
        known = list(dict.fromkeys(named))[:MAX_FILES_PER_HOST]
        for name in known:  # which grows
            allowed = {host, urls.host(name)}
            for url in await self._read_file(name, host, "sitemap"):
                new = url not in known and urls.host(url) in allowed
                if new and len(known) < MAX_FILES_PER_HOST:
                    known.append(url)

    async def _get(self, url: str) -> FetchResult:
        """A file; nothing is sent to a host that asked for a pause beyond its time."""
        return await self.engine.get_file(url, within=MAX_HOST_SECONDS)

    async def _read_file(self, name: str, host: str, kind: str) -> Iterable[str]:
        """Have the pages of a host that a file names stored. Returns the sitemaps that it names."""
        result = await self._get(name)
        if not 200 <= result.status < 300:
            return []
        await self._memory.acquire()
        is_kept = False
        try:
            root, entries = await asyncio.to_thread(read_sitemap, result.body, result.url)
            if is_kept := root in _ROOTS[kind]:
                self._read.put(_File(kind, [e for e in entries if urls.host(e.url) == host]))
        finally:
            if not is_kept:  # also if the time of the host has ended
                self._memory.release()
        return [entry.url for entry in entries] if root == "sitemapindex" else []


#: The kinds of files, and their root elements.
_ROOTS = {"sitemap": ("urlset",), "feed": ("rss", "feed")}
_FEEDS = r"""
SELECT target FROM links
WHERE last_seen IS NULL AND
      regexp_matches(target, '(/feed/?|/rss/?|(rss|atom|feed|index)\.xml|\.rss|\.atom)$')
GROUP BY target QUALIFY row_number() OVER (PARTITION BY split_part(target, '/', 3)
                                           ORDER BY count(*) DESC, target) <= ?
"""
