"""Crawling: pages fetched from a server on the same machine, side by side with plain Scrapy."""

from __future__ import annotations

import asyncio
import multiprocessing
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from benchmarks.content import page
from benchmarks.harness import Figure, apart
from recrawl.page import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

    from recrawl.protocols import Planned

FETCHES, HOSTS, CONCURRENCY = 20_000, 200, 32
MANY = 200_000
SIZE, ROUNDS = 10_000, 2


class UrlPlan:
    """A plan of pages without history."""

    def __init__(self, fetches: int) -> None:
        self._urls = [f"http://host{i % HOSTS}.example/page/{i}" for i in range(fetches)]

    def __len__(self) -> int:
        return len(self._urls)

    def urls(self) -> Sequence[str]:
        return self._urls


def serve(size: int, pipe: Connection) -> None:
    """Answer any request, as a proxy does, with one of a few pages of about `size` bytes."""
    bodies = [page(size, 20, seed) for seed in range(20)]
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
    )
    answers = [head % len(body) + body for body in bodies]
    absent = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    class Server(asyncio.Protocol):
        served = 0

        def connection_made(self, transport: Any) -> None:
            self.transport, self.held = transport, b""

        def data_received(self, data: bytes) -> None:
            *requests, self.held = (self.held + data).split(b"\r\n\r\n")
            for request in requests:
                Server.served += 1
                robots = b"/robots.txt " in request.partition(b"\r\n")[0]
                self.transport.write(absent if robots else answers[Server.served % len(answers)])

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def served(size: int) -> Iterator[str]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(size, theirs), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.kill()
        process.join()


def ours(proxy: str, fetches: int) -> float:
    """Seconds through the live engine."""
    from recrawl.fetch import LiveEngine

    parse(page(2000, 5, 0), url="http://a.example/")  # compiled before the clock starts
    with LiveEngine(proxy=proxy, delay=0.0, concurrency=CONCURRENCY) as engine:
        begin = perf_counter()
        visits = sum(
            batch["status"].to_pylist().count(200)
            for batch in engine.fetch(cast("Planned", UrlPlan(fetches)))
        )
        took = perf_counter() - begin
    assert visits == fetches, visits
    return took


def bare(proxy: str, fetches: int) -> float:
    """Seconds through a spider that reads pages with the same parser and keeps the results."""
    import logging

    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess

    parse(page(2000, 5, 0), url="http://a.example/")
    found: list[Any] = []

    class Plain(Spider):
        name = "plain"

        async def start(self) -> Any:
            for url in UrlPlan(fetches).urls():
                yield Request(url, meta={"proxy": proxy})

        def parse(self, response: Any) -> Any:
            kind = response.headers.get("Content-Type", b"").decode()
            content = parse(response.body, url=response.url, content_type=kind)
            yield {"url": response.url, "digest": content.digest, "links": content.links}
            found.append(content.digest)

    logging.disable()
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": CONCURRENCY,
            "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "COOKIES_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_ENABLED": False,
        }
    )
    process.crawl(Plain)
    begin = perf_counter()
    process.start(install_signal_handlers=False)
    took = perf_counter() - begin
    assert len(found) == fetches, len(found)
    return took


def figures() -> Iterator[Figure]:
    with served(SIZE) as proxy:
        took = [(apart(ours, proxy, FETCHES), apart(bare, proxy, FETCHES)) for _ in range(ROUNDS)]
    best, memory = min(mine for mine, _ in took)
    plain = min(theirs[0] for _, theirs in took)
    yield Figure(
        f"{FETCHES:,} pages of {SIZE // 1000} KB on {HOSTS} hosts",
        f"{FETCHES / best:.0f} pages/s, {plain / best:.2f} × plain Scrapy, {memory * 1024:.0f} MiB",
        "0.9 ×",
    )
    with served(2_000) as proxy:
        took_many, memory = apart(ours, proxy, MANY)
    yield Figure(
        f"{MANY:,} pages of 2 KB",
        f"{MANY / took_many:.0f} pages/s, {memory * 1024:.0f} MiB",
        "< 600 MB",
    )
