"""Scrapy with the add-on, observing: CPU time and memory of the spider's process against plain Scrapy."""

from __future__ import annotations

import logging
import resource
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks.harness import Figure, apart

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES, SIZE, ROUNDS, CONCURRENCY = 10_000, 10_000, 2, 32


def cpu_seconds(proxy: str, store: str | None) -> float:
    """User and system time of a process that crawls; with a store, the add-on fills it."""
    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess

    n_items = 0

    class Titles(Spider):
        name = "titles"

        async def start(self) -> Any:
            for i in range(PAGES):
                yield Request(f"http://host{i % 200}.example/page/{i}", meta={"proxy": proxy})

        def parse(self, response: Any) -> Any:
            nonlocal n_items
            n_items += 1
            yield {
                "title": response.css("title::text").get(),
                "links": response.css("a::attr(href)").getall(),
            }

    logging.disable()
    settings: dict[str, Any] = {
        "CONCURRENT_REQUESTS": CONCURRENCY, "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
        "DOWNLOAD_DELAY": 0, "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
    }  # fmt: skip
    if store is not None:
        settings |= {"ADDONS": {"recrawl.adapters.scrapy.Addon": 300}, "RECRAWL_STORE": store}
    process = CrawlerProcess(settings)
    process.crawl(Titles)
    process.start()
    assert n_items == PAGES, n_items
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def figures() -> Iterator[Figure]:
    from benchmarks.crawl import served  # not above: plain Scrapy must not load recrawl

    plain, ours = [], []
    with served(SIZE) as proxy, TemporaryDirectory() as folder:
        for i in range(ROUNDS):  # in turns: both see the same other work on the machine
            plain.append(apart(cpu_seconds, proxy, None))
            ours.append(apart(cpu_seconds, proxy, str(Path(folder, f"store-{i}"))))
    cpu, bare_cpu = min(c for c, _ in ours), min(c for c, _ in plain)
    memory, bare_memory = min(m for _, m in ours), min(m for _, m in plain)
    what = f"{PAGES:,} pages of {SIZE // 1000} KB"
    yield Figure(
        f"CPU time, {what}",
        f"{cpu:.1f} s, {cpu / bare_cpu:.2f} × plain Scrapy",
        "1.25 ×",
    )
    yield Figure(
        f"peak memory, {what}",
        f"{memory * 1024:.0f} MiB, {memory / bare_memory:.2f} × plain Scrapy",
        "1.5 ×",
    )
