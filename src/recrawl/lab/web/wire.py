"""How do bytes become requests, and answers bytes? HTTP/1.1 for one connection."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from recrawl.errors import BadInput
from recrawl.lab.web import admin
from recrawl.lab.web.answers import date, problem
from recrawl.lab.web.log import Logged
from recrawl.lab.web.message import Answer, Request, read_request
from recrawl.page.responses import NO_ANSWER

if TYPE_CHECKING:
    from recrawl.lab.web.serving import Web

MAX_HEAD = 65_536  #: bytes of a request
_PHRASE = {status.value: status.phrase for status in HTTPStatus}
_END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """One client: its requests one after the other, answered in that order."""

    def __init__(self, web: Web, open_ones: set[asyncio.Transport]) -> None:
        self._web = web
        self._open = open_ones
        self._received = bytearray()
        self._waits = 0  # for a slow host, for a client that does not read
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._work()

    def pause_writing(self) -> None:
        self._wait()

    def resume_writing(self) -> None:
        self._go_on()

    def _wait(self) -> None:
        self._waits += 1
        self._transport.pause_reading()

    def _go_on(self) -> None:
        self._waits -= 1
        if not self._waits and not self._transport.is_closing():
            self._transport.resume_reading()
            self._work()

    def _work(self) -> None:
        """Answer all that has come in whole."""
        while not self._waits and not self._transport.is_closing():
            end = self._received.find(_END)
            if end < 0:
                if len(self._received) > MAX_HEAD:
                    self._refuse(431, f"A request has at most {MAX_HEAD} bytes.")
                return
            head = bytes(self._received[:end])
            del self._received[: end + len(_END)]
            self._take(head)

    def _take(self, head: bytes) -> None:
        try:
            request = read_request(head)
        except BadInput as error:
            self._refuse(400, str(error))
            return
        if request.method == "CONNECT":
            self._refuse(501, "TLS is not spoken here; ask for the http:// address of the page.")
        elif request.headers.get("content-length", "0") != "0" or (
            "transfer-encoding" in request.headers
        ):
            self._refuse(413, "Pages can only be read; send no body.")
        else:
            self._answer(request)

    def _answer(self, request: Request) -> None:
        came, now = time.monotonic(), self._web.clock.now()
        if request.host == admin.HOST:
            self._send(request, self._web.admin(request), now)
            return
        answer = self._web.answers.to(request, now)
        body = answer.body if request.method == "GET" else b""
        self._web.log.add(Logged(came, now, request.host, request.path, answer.status, len(body)))
        if answer.delay:
            self._wait()
            asyncio.get_running_loop().call_later(answer.delay, self._send_late, request, answer)
        else:
            self._send(request, answer, now)

    def _send_late(self, request: Request, answer: Answer) -> None:
        if not self._transport.is_closing():
            self._send(request, answer, self._web.clock.now())
            self._go_on()

    def _refuse(self, status: int, sentence: str) -> None:
        request = Request("GET", "", "", "", {}, keep=False)
        self._send(request, problem(status, sentence), self._web.clock.now())

    def _send(self, request: Request, answer: Answer, now: float) -> None:
        if answer.status == NO_ANSWER:
            self._transport.close()
            return
        length = f"Content-Length: {len(answer.body)}\r\n" if answer.status != 304 else ""
        keep = "" if request.keep else "Connection: close\r\n"
        moment = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        head = (
            f"HTTP/1.1 {answer.status} {_PHRASE.get(answer.status, '')}\r\n"
            f"Date: {date(int(now))}\r\nX-Simulated-Time: {moment[:-6]}Z\r\n"
            f"{length}{keep}{answer.headers}\r\n"
        ).encode("latin-1", "replace")
        self._transport.write(head if request.method == "HEAD" else head + answer.body)
        if not request.keep:
            self._transport.close()
