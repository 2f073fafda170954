"""One HTTP/1.1 connection: bytes to requests, and responses to bytes."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from recrawl.errors import BadInput
from recrawl.lab.web import admin
from recrawl.lab.web.message import Request, WebResponse, read_request
from recrawl.lab.web.request_log import LoggedRequest
from recrawl.lab.web.responder import date, error_page
from recrawl.page.responses import NO_ANSWER

if TYPE_CHECKING:
    from recrawl.lab.web.server import LivingWeb

MAX_REQUEST_BYTES = 65_536
_PHRASE = {status.value: status.phrase for status in HTTPStatus}
_END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """One client; its requests are answered in order."""

    def __init__(self, web: LivingWeb, open_transports: set[asyncio.Transport]) -> None:
        self._web = web
        self._open = open_transports
        self._received = bytearray()
        self._waits = 0  # reasons to wait: a slow host, a client that does not read
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._answer_received()

    def pause_writing(self) -> None:
        self._waits += 1
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._waits -= 1
        if not self._waits and not self._transport.is_closing():
            self._transport.resume_reading()
            self._answer_received()

    def _answer_received(self) -> None:
        """Answer all requests that were received completely."""
        while not self._waits and not self._transport.is_closing():
            end = self._received.find(_END)
            if end < 0:
                if len(self._received) > MAX_REQUEST_BYTES:
                    self._refuse(431, f"A request has at most {MAX_REQUEST_BYTES} bytes.")
                return
            head = bytes(self._received[:end])
            del self._received[: end + len(_END)]
            self._handle(head)

    def _handle(self, head: bytes) -> None:
        try:
            request = read_request(head)
        except BadInput as error:
            self._refuse(400, str(error))
            return
        if request.method == "CONNECT":
            self._refuse(501, "TLS is not supported; request the http:// address of the page.")
        elif request.headers.get("content-length", "0") != "0" or (
            "transfer-encoding" in request.headers
        ):
            self._refuse(413, "Pages can only be read; send no body.")
        else:
            self._answer(request)

    def _answer(self, request: Request) -> None:
        received, now = time.monotonic(), self._web.clock.now()
        if request.host == admin.HOST:
            self._send(request, self._web.admin(request), now)
            return
        response = self._web.responder.respond(request, now)
        body = response.body if request.method == "GET" else b""
        self._web.log.add(
            LoggedRequest(received, now, request.host, request.path, response.status, len(body))
        )
        if response.delay:
            self.pause_writing()
            asyncio.get_running_loop().call_later(
                response.delay, self._send_late, request, response
            )
        else:
            self._send(request, response, now)

    def _send_late(self, request: Request, response: WebResponse) -> None:
        if not self._transport.is_closing():
            self._send(request, response, self._web.clock.now())
            self.resume_writing()

    def _refuse(self, status: int, sentence: str) -> None:
        request = Request("GET", "", "", "", {}, keep_alive=False)
        self._send(request, error_page(status, sentence), self._web.clock.now())

    def _send(self, request: Request, response: WebResponse, now: float) -> None:
        if response.status == NO_ANSWER:
            self._transport.close()
            return
        length = f"Content-Length: {len(response.body)}\r\n" if response.status != 304 else ""
        connection = "" if request.keep_alive else "Connection: close\r\n"
        moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        head = (
            f"HTTP/1.1 {response.status} {_PHRASE.get(response.status, '')}\r\n"
            f"Date: {date(int(now))}\r\nX-Simulated-Time: {moment[:-6]}Z\r\n"
            f"{length}{connection}{response.headers}\r\n"
        ).encode("latin-1", "replace")
        self._transport.write(head if request.method == "HEAD" else head + response.body)
        if not request.keep_alive:
            self._transport.close()
