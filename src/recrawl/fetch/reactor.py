"""The thread in which the network runs: one per process, as Twisted's reactor starts only once."""

from __future__ import annotations

import asyncio
import atexit
import logging
import sys
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")


class Reactor:
    """The thread in which the reactor runs until the process ends."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.twisted: Any = _install_reactor(self.loop)
        started = threading.Event()
        self.twisted.callWhenRunning(started.set)
        self._thread = threading.Thread(target=self._run, name="recrawl-reactor", daemon=True)
        self._thread.start()
        started.wait()
        atexit.register(self._end)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread, and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def schedule(self, function: Callable[..., object], *arguments: object) -> None:
        """Have a function called in the thread, without waiting for it."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.twisted.run(installSignalHandlers=False)

    def _end(self) -> None:
        self.twisted.callFromThread(self.twisted.stop)
        self._thread.join(timeout=5)


@cache
def reactor() -> Reactor:
    """The reactor of this process."""
    return Reactor()


def _install_reactor(loop: asyncio.AbstractEventLoop) -> Any:
    if "twisted.internet.reactor" in sys.modules:
        raise BadInput(
            "A live engine runs Twisted's reactor in its own thread, but this process has already "
            "installed one. Run the crawl in another process."
        )
    from twisted.internet import asyncioreactor
    from twisted.logger import STDLibLogObserver, globalLogBeginner

    # Until logging begins, Twisted keeps what it would log in memory.
    observer: Any = STDLibLogObserver("twisted")
    globalLogBeginner.beginLoggingTo([observer], discardBuffer=True, redirectStandardIO=False)
    noisy = logging.getLogger("scrapy")
    if noisy.level == logging.NOTSET:
        noisy.setLevel(logging.ERROR)  # its warnings are recorded as failed visits
    install: Any = asyncioreactor.install
    install(loop)
    from twisted.internet import reactor as twisted

    return twisted
