"""How is a web started and ended? In a thread for tests, or until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from threading import Thread
from typing import IO, TYPE_CHECKING

from recrawl.errors import BadInput
from recrawl.lab.web import admin
from recrawl.lab.web.answers import Answers
from recrawl.lab.web.clock import Clock
from recrawl.lab.web.log import Log, Logged
from recrawl.lab.web.manners import Manners
from recrawl.lab.web.truth import Truth
from recrawl.lab.web.wire import Connection
from recrawl.model import DAY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from recrawl.lab.trace import Trace
    from recrawl.lab.web.message import Answer, Request
    from recrawl.model import Time

HOST = "127.0.0.1"  #: nobody else is to meet pages that pretend to be somebody's


class Web:
    """A trace as a web: what it answers, when, and what it was asked."""

    def __init__(
        self,
        trace: Trace,
        *,
        manners: Manners | None = None,
        speed: float | None = DAY / 2,
        truth: bool = False,
        log: IO[str] | None = None,
    ) -> None:
        self.truth = Truth(trace)
        self.answers = Answers(self.truth, manners or Manners())
        self.log = Log(log)
        self.port = 0  #: once it is served
        self._told = self.truth if truth else None
        self.clock = Clock(trace.window, speed)

    @property
    def proxy(self) -> str:
        """Where a crawler finds it."""
        return f"http://{HOST}:{self.port}"

    def seeds(self) -> list[str]:
        """The addresses of the pages that are there when the window begins."""
        return self.truth.alive(self.clock.begin)

    def requests(self) -> list[Logged]:
        """The last requests, oldest first."""
        return self.log.last()

    def admin(self, request: Request) -> Answer:
        return admin.answer(request, self.clock, self.log, self._told)


@contextmanager
def serve(
    trace: Trace,
    *,
    manners: Manners | None = None,
    speed: float = DAY / 2,
    manual: bool = False,
    truth: bool = False,
    port: int = 0,
) -> Iterator[Web]:
    """Serve a trace from a thread of this process; `manual`: time stands unless it is set.

    `speed` is simulated seconds a second.
    """
    web = Web(trace, manners=manners, speed=None if manual else speed, truth=truth)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    thread = Thread(target=asyncio.run, args=(_in_thread(web, port, started),), daemon=True)
    thread.start()
    loop, stop = started.result()
    try:
        yield web
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def run(
    web: Web,
    *,
    port: int = 0,
    ready: Callable[[], None] = lambda: None,
    watch: Callable[[Time, int], None] | None = None,
) -> None:
    """Serve a web until SIGINT or SIGTERM; `watch` hears each second the time and requests."""
    asyncio.run(_until_told(web, port, ready, watch))


async def _in_thread(
    web: Web, port: int, started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]
) -> None:
    stop = asyncio.Event()
    try:
        async with _listening(web, port):
            started.set_result((asyncio.get_running_loop(), stop))
            await stop.wait()
    except BadInput as error:
        started.set_exception(error)


async def _until_told(
    web: Web,
    port: int,
    ready: Callable[[], None],
    watch: Callable[[Time, int], None] | None,
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with _listening(web, port):
        ready()
        while not stop.is_set():
            if watch is not None and web.log.count:  # to look at the clock would start it
                watch(web.clock.now(), web.log.count)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), None if watch is None else 1.0)


@asynccontextmanager
async def _listening(web: Web, port: int) -> AsyncIterator[None]:
    open_ones: set[asyncio.Transport] = set()
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(
            lambda: Connection(web, open_ones), HOST, port, backlog=1_000
        )
    except (OSError, OverflowError) as error:
        raise BadInput(
            f"port must be one that is free. Got {port} ({error}); leave it out for any."
        ) from None
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        server.close()
        for transport in list(open_ones):
            transport.abort()
        await server.wait_closed()
        await asyncio.sleep(0)  # lets the aborted connections go
