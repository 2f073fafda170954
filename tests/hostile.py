"""A hostile server for tests: its responses are endless, huge, slow or false.

Every path is one attack; `/` links to all of them and to normal pages. It has no TLS, so its https://
URL is one of a host with invalid TLS.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

Robots = Literal["missing", "open", "500", "huge", "binary", "redirecting", "slow"]

DRIP_SECONDS = 0.05  #: between two bytes
MAX_BYTES = 2**32  #: an endless response ends here if the client does not close
BOMB_BYTES = 2**30  #: decompressed
LINKS = 10_000
HTML = "Content-Type: text/html; charset=utf-8\r\n"


@dataclass
class Hostile:
    """The URL of the server, and the requests it received."""

    robots: Robots
    port: int = 0
    requests: list[tuple[float, str]] = field(default_factory=list)  #: monotonic time, path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def n_requests(self, path: str) -> int:
        return [requested for _, requested in self.requests].count(path)


@contextmanager
def hostile(robots: Robots = "missing") -> Iterator[Hostile]:
    """Serve from a thread on loopback."""
    site = Hostile(robots)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def main() -> None:
        server = await asyncio.start_server(
            lambda reader, writer: _serve(site, reader, writer), "127.0.0.1", 0
        )
        site.port = server.sockets[0].getsockname()[1]
        stop = asyncio.Event()
        started.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()
        server.close()

    thread = Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    loop, stop = started.result()
    try:
        yield site
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


async def _serve(site: Hostile, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request per connection."""
    try:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode("latin-1")
            site.requests.append((time.monotonic(), path))
            await _answer(site, path, writer)
            await writer.drain()
    finally:
        writer.close()


async def _answer(site: Hostile, path: str, writer: asyncio.StreamWriter) -> None:
    if path.startswith("/robots.txt"):
        await _ROBOTS[site.robots](writer)
    elif path in _PATHS:
        await _PATHS[path](writer)
    elif path.startswith("/calendar/"):
        _page(writer, "A day.", [f"/calendar/{int(path.rpartition('/')[2] or 0) + 1}"])
    elif path == "/" or path.startswith("/ok"):
        # Normal pages, so that tests can check that the rest of the crawl continues.
        links = [*_PATHS, "/calendar/1", *(f"/ok/{i}" for i in range(20))]
        _page(writer, f"All is well at {path}.", links if path == "/" else [])
    else:
        _send(writer, "404 Not Found", b"No.")


def _send(writer: asyncio.StreamWriter, status: str, body: bytes, headers: str = HTML) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{headers}\r\n"
    writer.write(head.encode() + body)


def _page(writer: asyncio.StreamWriter, text: str, links: list[str]) -> None:
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>\n' for link in links)
    _send(writer, "200 OK", f"<!doctype html><p>{text}</p><ul>{anchors}</ul>".encode())


async def _drip(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nContent-Type: text/html\r\n\r\n")
    for _ in range(1_000_000):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(DRIP_SECONDS)


async def _endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n")
    await _flood(writer, b"<p>and so on</p>\n" * 4_000)


async def _headers(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    await _flood(writer, b"X-More: and so on\r\n" * 4_000)


async def _flood(writer: asyncio.StreamWriter, piece: bytes) -> None:
    for _ in range(MAX_BYTES // len(piece)):
        writer.write(piece)
        await writer.drain()


async def _bomb(writer: asyncio.StreamWriter) -> None:
    _send(writer, "200 OK", bomb(), HTML + "Content-Encoding: gzip\r\n")


@cache
def bomb() -> bytes:
    """A gzip file of about 1 MB that unpacks to `BOMB_BYTES` bytes.

    After a full flush the output does not depend on earlier input, so one compressed piece is repeated.
    """
    piece = bytes(2**20)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    check = 0
    for _ in range(BOMB_BYTES // len(piece)):
        check = zlib.crc32(piece, check)
    end = zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    sums = check.to_bytes(4, "little") + (BOMB_BYTES % 2**32).to_bytes(4, "little")
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    return header + packed * (BOMB_BYTES // len(piece)) + end + sums


async def _many(writer: asyncio.StreamWriter) -> None:
    _page(writer, "Much to see.", [f"/ok/many-{i}" for i in range(LINKS)])


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()


def _to(target: str) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    async def redirect(writer: asyncio.StreamWriter) -> None:
        _send(writer, "302 Found", b"", f"Location: {target}\r\n")

    return redirect


def _robots(
    status: str, body: Callable[[], bytes]
) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    async def answer(writer: asyncio.StreamWriter) -> None:
        _send(writer, status, body(), "Content-Type: text/plain\r\n")

    return answer


_ROBOTS: dict[str, Callable[[asyncio.StreamWriter], Awaitable[None]]] = {
    "missing": _robots("404 Not Found", lambda: b"No."),
    "open": _robots("200 OK", lambda: b"User-agent: *\nAllow: /\nDisallow: /private/\n"),
    "500": _robots("500 Internal Server Error", lambda: b"Oh."),
    "huge": _robots(
        "200 OK",
        lambda: b"User-agent: *\nDisallow: /many\n" + b"Disallow: /nowhere/at/all\n" * 200_000,
    ),
    "binary": _robots("200 OK", lambda: bytes(range(256)) * 400),
    "redirecting": _to("/robots.txt?again"),
    "slow": _drip,
}
_PATHS: dict[str, Callable[[asyncio.StreamWriter], Awaitable[None]]] = {
    "/drip": _drip,
    "/endless": _endless,
    "/headers": _headers,
    "/bomb": _bomb,
    "/loop": _to("/loop/again"),
    "/loop/again": _to("/loop"),
    "/to-loopback": _to("http://127.0.0.1:1/"),
    "/to-metadata": _to("http://169.254.169.254/latest/"),
    "/many": _many,
    "/close": _close,
}
