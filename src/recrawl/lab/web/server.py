"""Starts and stops a living web: in a thread for tests, or until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from threading import Thread
from typing import IO, TYPE_CHECKING

from recrawl.errors import BadInput
from recrawl.lab.web import admin
from recrawl.lab.web.behaviours import Behaviours
from recrawl.lab.web.clock import TraceClock
from recrawl.lab.web.connection import Connection
from recrawl.lab.web.request_log import LoggedRequest, RequestLog
from recrawl.lab.web.responder import Responder
from recrawl.lab.web.truth import Truth
from recrawl.model import DAY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from recrawl.lab.trace import Trace
    from recrawl.lab.web.message import Request, WebResponse
    from recrawl.model import Time

HOST = "127.0.0.1"  #: only this machine may see the pages, which imitate real sites


class LivingWeb:
    """A trace as a web: its clock, its responses and the log of its requests."""

    def __init__(
        self,
        trace: Trace,
        *,
        behaviours: Behaviours | None = None,
        speed: float | None = DAY / 2,
        truth: bool = False,
        log: IO[str] | None = None,
    ) -> None:
        self.truth = Truth(trace)
        self.responder = Responder(self.truth, behaviours or Behaviours())
        self.log = RequestLog(log)
        self.port = 0  #: set when it is served
        self._shown_truth = self.truth if truth else None
        self.clock = TraceClock(trace.window, speed)

    @property
    def proxy(self) -> str:
        """The URL that a crawler uses as its proxy."""
        return f"http://{HOST}:{self.port}"

    def seeds(self) -> list[str]:
        """The URLs of the pages that exist at the start of the window."""
        return self.truth.alive(self.clock.begin)

    def requests(self) -> list[LoggedRequest]:
        """The last requests, oldest first."""
        return self.log.last()

    def admin(self, request: Request) -> WebResponse:
        return admin.respond(request, self.clock, self.log, self._shown_truth)


@contextmanager
def serve(
    trace: Trace,
    *,
    behaviours: Behaviours | None = None,
    speed: float = DAY / 2,
    manual: bool = False,
    truth: bool = False,
    port: int = 0,
) -> Iterator[LivingWeb]:
    """Serve a trace from a thread of this process.

    `speed` is simulated seconds per real second; with `manual`, time stands until it is set.
    """
    web = LivingWeb(trace, behaviours=behaviours, speed=None if manual else speed, truth=truth)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def main() -> None:
        stop = asyncio.Event()
        try:
            async with _listening(web, port):
                started.set_result((asyncio.get_running_loop(), stop))
                await stop.wait()
        except BadInput as error:
            started.set_exception(error)

    thread = Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    loop, stop = started.result()
    try:
        yield web
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def run(
    web: LivingWeb,
    *,
    port: int = 0,
    ready: Callable[[], None] = lambda: None,
    watch: Callable[[Time, int], None] | None = None,
) -> None:
    """Serve a web until SIGINT or SIGTERM; `watch` gets the time and requests each second."""

    async def main() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with _listening(web, port):
            ready()
            while not stop.is_set():
                if watch is not None and web.log.count:  # reading the clock would start it
                    watch(web.clock.now(), web.log.count)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), None if watch is None else 1.0)

    asyncio.run(main())


@asynccontextmanager
async def _listening(web: LivingWeb, port: int) -> AsyncIterator[None]:
    open_transports: set[asyncio.Transport] = set()
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(
            lambda: Connection(web, open_transports), HOST, port, backlog=1_000
        )
    except (OSError, OverflowError) as error:
        raise BadInput(f"port must be a free one. Got {port} ({error}); omit it for any.") from None
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        server.close()
        for transport in list(open_transports):
            transport.abort()
        await server.wait_closed()
        await asyncio.sleep(0)  # lets the aborted connections close
