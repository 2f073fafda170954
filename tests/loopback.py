"""A web server on loopback with given responses, which logs its requests."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class ReceivedRequest:
    """One request, as the server saw it."""

    path: str
    headers: dict[str, str]
    started: float
    ended: float = 0.0


@dataclass
class Site:
    """Responses by path: a body, (status, headers, body), or a function of the handler."""

    pages: dict[str, Any] = field(default_factory=dict)
    log: list[ReceivedRequest] = field(default_factory=list)
    port: int = 0
    connections: set[Any] = field(default_factory=set)  #: open now
    most_connections: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"

    def paths(self) -> list[str]:
        return [request.path for request in self.log]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100

    def handle_error(self, *_: Any) -> None:
        pass  # tests close connections on purpose


class _CountedHandler(BaseHTTPRequestHandler):
    """Notes when its connection is opened and closed."""

    site: ClassVar[Site]

    def setup(self) -> None:
        super().setup()
        self.site.connections.add(self)
        self.site.most_connections = max(self.site.most_connections, len(self.site.connections))

    def finish(self) -> None:
        self.site.connections.discard(self)
        super().finish()


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(_CountedHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            request = ReceivedRequest(self.path, dict(self.headers), time.monotonic())
            site.log.append(request)
            try:
                self._respond(request, site.pages.get(self.path, (404, {}, b"")))
            except OSError:
                self.close_connection = True

        def _respond(self, request: ReceivedRequest, page: Any) -> None:
            if callable(page):
                page = page(self)
            request.ended = time.monotonic()  # before the client has the whole response
            if page is None:
                return
            status, headers, body = page if isinstance(page, tuple) else (200, {}, page)
            self.send_response(status)
            if status != 304:
                headers = {"Content-Type": "text/html", "Content-Length": str(len(body)), **headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    Handler.site = site
    return Handler


@contextmanager
def serving(
    pages: dict[str, Any] | None = None,
    wrap: Callable[..., Any] | None = None,
    address: str = "127.0.0.1",
) -> Iterator[Site]:
    site = Site(pages or {})

    server = _Server((address, 0), _handler(site))
    if wrap is not None:
        server.socket = wrap(server.socket)
    site.port = server.server_port
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    )
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
