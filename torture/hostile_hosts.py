"""Fifty hosts that behave badly, each in its way, and the log of the requests they got.

They run in a network of their own, in which every address there is leads to this machine. So each
host has a public address, and a request to a private one would arrive here too, and be seen.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from tests import hostile

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

HOSTS = 50
LAST_DATA = struct.Struct("=52xI")  #: tcpi_last_data_recv of the kernel's struct tcp_info
PORTS = (80, 8080, 1)
DELAY, CRAWL_DELAY, RETRY_AFTER = 0.5, 1.5, 3  #: seconds
#: Addresses that nobody may be led to; the names are in the hosts file.
PRIVATE_NAMES = {"router.example": "10.0.0.7", "cloud.example": "169.254.169.254"}
PRIVATE = [
    *("127.0.0.1", "127.0.0.1:8080", "localhost", "localhost:8080", "10.0.0.1", "192.168.1.1"),
    *("169.254.169.254", "[::1]", "[::1]:8080", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "0.0.0.0"),
    *("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[fe80::1]", "[fd00::1]", "100.64.0.1"),
    *PRIVATE_NAMES,
]
KINDS = ("plain", "attacks", "private", "lengths", "lying", "robots", "retry", "flapping", "delay",
         "loris")  # fmt: skip


def name_of(number: int) -> str:
    return f"h{number:02}.example"


def address_of(number: int) -> str:
    return f"93.184.{number}.34"


def hosts_file() -> str:
    """Which address each name has."""
    named = {name_of(n): address_of(n) for n in range(HOSTS)} | PRIVATE_NAMES
    lines = [f"{address} {name}\n" for name, address in named.items()]
    return "".join(["127.0.0.1 localhost\n::1 localhost\n", *lines])


class Request:
    """One request to a host: what is known of it, and where the answer goes."""

    def __init__(self, host: str, path: str, head: bytes, writer: asyncio.StreamWriter) -> None:
        self.host, self.path, self.head, self.writer = host, path, head.lower(), writer
        self.facts: dict[str, Any] = {}  #: that the log keeps

    def send(self, status: str, body: bytes = b"", headers: str = hostile.HTML) -> None:
        hostile._send(self.writer, status, body, headers)

    def page(self, text: str, links: list[str], headers: str = "") -> None:
        anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
        self.send("200 OK", f"<p>{text}</p>{anchors}".encode(), hostile.HTML + headers)


def arrival(writer: asyncio.StreamWriter) -> float:
    """When the last bytes of a connection arrived, as the kernel knows it.

    On a busy machine this process may read them seconds later, when the crawler has given up and
    sent its next request: the two would look too close.
    """
    connection = writer.get_extra_info("socket")
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LAST_DATA.size)
    milliseconds_ago: int = LAST_DATA.unpack(info)[0]
    return time.monotonic() - milliseconds_ago / 1000


class Hosts:
    """The answers of all hosts; the same for the same seed and order of requests."""

    def __init__(self, log: IO[str], seed: int) -> None:
        self.log = log
        self.chance = random.Random(seed)
        self.asked: dict[str, int] = {}  #: requests for robots.txt of each host
        self._answers: dict[str, Callable[[Request], Awaitable[None]]] = {
            "attacks": self._attack,
            "private": self._lead_to_private,
            "lengths": self._wrong_length,
            "lying": self._lie,
            "retry": self._ask_to_wait,
            "flapping": self._flap,
            "loris": self._loris,
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                head = await reader.readuntil(b"\r\n\r\n")
                arrived = arrival(writer)
                path = head.split(b" ")[1].decode("latin-1")
                lines = [line for line in head.lower().split(b"\r\n") if line.startswith(b"host:")]
                host = lines[0][5:].strip().decode("latin-1") if lines else ""
                request = Request(host, path, head, writer)
                address = writer.get_extra_info("sockname")[0]
                try:
                    await self.answer(request)
                    await writer.drain()
                finally:
                    line = {"at": arrived, "host": host, "address": address, "path": path}
                    self.log.write(json.dumps(line | request.facts) + "\n")
                    self.log.flush()
        finally:
            writer.close()

    async def answer(self, request: Request) -> None:
        number = int(request.host[1:3]) if request.host[1:3].isdigit() else 0
        kind = KINDS[number % len(KINDS)]
        if request.path.startswith("/robots.txt"):
            self._robots(request, kind)
        elif kind in self._answers:
            await self._answers[kind](request)
        else:
            self._plain(request)

    def _links(self) -> list[str]:
        """Pages here and elsewhere; some are forbidden."""
        here = [f"/{self.chance.choice('abc')}/{self.chance.randrange(60)}" for _ in range(8)]
        there = name_of(self.chance.randrange(HOSTS))
        return [*here, f"http://{there}/a/{self.chance.randrange(60)}"]

    def _plain(self, request: Request) -> None:
        etag = f'"{int(time.monotonic()) // 20}"'
        if f"if-none-match: {etag}".encode() in request.head:
            request.send("304 Not Modified", b"", f"ETag: {etag}\r\n")
        else:
            request.page(f"Version {etag}", self._links(), f"ETag: {etag}\r\n")

    def _robots(self, request: Request, kind: str) -> None:
        """Each kind of host forbids /c/; the kind `robots` changes its mind."""
        asked = self.asked[request.host] = self.asked.get(request.host, -1) + 1
        forbidden, status, more = ["/c/"], 200, ""
        if kind == "delay":
            more = f"Crawl-delay: {CRAWL_DELAY}\n"
            request.facts["delay"] = CRAWL_DELAY
        if kind == "private":
            address = self.chance.choice(PRIVATE)
            more = f"Sitemap: http://{address}/sitemap.xml\n"
            if asked % 3 == 2:
                request.send("302 Found", b"", f"Location: http://{address}/robots.txt\r\n")
                request.facts["robots"] = None  # it leads nowhere: what follows is not judged
                return
        if kind == "robots":
            forbidden, status = [(["/a/"], 200), (["/"], 200), ([], 404), (["/b/"], 200), (["/"], 503)][
                asked % 5
            ]  # fmt: skip
        request.facts["robots"] = forbidden
        rules = "".join(f"Disallow: {path}\n" for path in forbidden)
        request.send(f"{status} -", f"User-agent: *\n{rules}{more}".encode(), "")

    async def _attack(self, request: Request) -> None:
        if request.path in hostile._PATHS or request.path.startswith("/calendar/"):
            await hostile._answer(hostile.Hostile("open"), request.path, request.writer)
        else:
            attacks = self.chance.sample([*hostile._PATHS, "/calendar/1"], 4)
            request.page("Come in.", [*attacks, *self._links()])

    async def _lead_to_private(self, request: Request) -> None:
        """Redirects, links, frames and canonical addresses that lead to private hosts."""
        target = f"http://{self.chance.choice(PRIVATE)}/{self.chance.randrange(1000)}"
        if self.chance.random() < 0.3:
            request.send("302 Found", b"", f"Location: {target}\r\n")
        elif self.chance.random() < 0.3:
            request.send("200 OK", f'<link rel=canonical href="{target}"><p>Hi'.encode())
        else:
            others = [f"http://{address}/x" for address in self.chance.sample(PRIVATE, 5)]
            request.page("See", [target, *others, *self._links()])

    async def _wrong_length(self, request: Request) -> None:
        body = b"<p>Short" + b"".join(f'<a href="{x}">x</a>'.encode() for x in self._links())
        head = f"HTTP/1.1 200 OK\r\n{hostile.HTML}"
        lengths = [
            f"Content-Length: {len(body) + 100}\r\n\r\n",
            "Content-Length: 3\r\n\r\n",
            "Content-Length: -1\r\n\r\n",
            f"Content-Length: {len(body)}\r\nContent-Length: 7\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
            "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n",
            "Content-Encoding: gzip\r\nConnection: close\r\n\r\n",
            f"Content-Length: {len(body)}\r\nX: {'x' * 9000}\r\n\r\n",
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n",
        ]
        request.writer.write((head + self.chance.choice(lengths)).encode() + body)

    async def _lie(self, request: Request) -> None:
        """Not modified, whatever was asked."""
        if b"if-none-match" in request.head or self.chance.random() < 0.1:
            request.send("304 Not Modified", b"", 'ETag: "always"\r\n')
        else:
            request.page(f"{self.chance.random()}", self._links(), 'ETag: "always"\r\n')

    async def _ask_to_wait(self, request: Request) -> None:
        if self.chance.random() < 0.2:
            request.facts["retry"] = RETRY_AFTER
            status = self.chance.choice(("503 Busy", "429 Too Many"))
            request.send(status, b"Wait.", f"Retry-After: {RETRY_AFTER}\r\n")
        else:
            self._plain(request)

    async def _flap(self, request: Request) -> None:
        drawn = self.chance.random()
        if drawn < 0.2:
            request.send(f"{self.chance.choice((500, 502, 404, 418, 999))} Oh", b"Oh.")
        elif drawn < 0.3:
            request.writer.close()
        else:
            self._plain(request)

    async def _loris(self, request: Request) -> None:
        """Headers and a page, byte by byte; some end before the crawler gives up."""
        if self.chance.random() < 0.6:
            self._plain(request)
            return
        head = f"HTTP/1.1 200 OK\r\n{hostile.HTML}X-Slow: {'x' * 1000}\r\n\r\n"
        for byte in head.encode():
            request.writer.write(bytes([byte]))
            await request.writer.drain()
            await asyncio.sleep(hostile.DRIP_SECONDS)


def serve(log: Path, seed: int, ready: Callable[[], object]) -> None:
    """Answer on all ports until killed."""

    async def main() -> None:
        with log.open("a") as file:
            hosts = Hosts(file, seed)
            for port in PORTS:
                for address in ("0.0.0.0", "::"):
                    await asyncio.start_server(hosts.serve, address, port, backlog=1000)
            ready()
            await asyncio.Event().wait()

    asyncio.run(main())
