"""Who touches the store while a crawl runs? One thread, so that fetching never waits for the disk.

Visits are appended in batches, each whole or not at all: a kill loses only what had not been
appended yet.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from recrawl.history import Store
from recrawl.model import VISITS
from recrawl.page.responses import NO_ANSWER, Response, to_visits

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import Time

VISITS_HELD = 1_000  #: a batch has so many visits: each costs 0.2 s, however few there are;
BYTES_HELD = 32 << 20  #: or has so many bytes of pages,
SECONDS_HELD = 5.0  #: or is so old
_WAITING = 1_000  # most visits that wait for the thread: then the crawl waits for it
_GIVEN_UP = 5 * VISITS_HELD  # held through failing appends; more would fill the memory

_log = logging.getLogger(__name__)
_open: dict[Path, Journal] = {}
T = TypeVar("T")


def clock() -> Time:
    return time.time()  # noqa: TID251  # a live crawl


class Journal:
    """The store of a running crawl. Spiders of one process that name one store share it."""

    def __init__(self, path: Path) -> None:
        self.store = Store.open(path, create=True)
        self.store.append(VISITS.empty_table())  # refused now, if another process is writing
        self._users = self._recorded = 0
        self._held: list[Response] = []
        self._since, self._bytes = time.monotonic(), 0
        self._inbox: Queue[Callable[[], None] | None] = Queue(_WAITING)
        self._thread = Thread(target=self._run, name=f"recrawl {path}", daemon=True)
        self._thread.start()

    @classmethod
    def join(cls, path: str | Path) -> Journal:
        """Begin to use the store there, and make it if there is none."""
        place = Path(path).resolve()
        if place not in _open:
            _open[place] = cls(place)
        _open[place]._users += 1
        return _open[place]

    def leave(self) -> None:
        """End to use it; what is held is on disk when this returns."""
        self._users -= 1
        if self._users:
            return
        self._inbox.put(None)
        self._thread.join()
        self.store.close()
        del _open[self.store.path]

    def add(self, visit: Response) -> None:
        self._inbox.put(lambda: self._hold(visit))

    def retried(self, url: str) -> None:
        """A fetch without answer is tried again: what counts is how that ends."""
        self._inbox.put(lambda: self._forget(url))

    def ask(self, question: Callable[[Store], T]) -> Future[T]:
        """Have a question answered from the store when all visits added so far are in it."""
        answer: Future[T] = Future()
        self._inbox.put(lambda: self._answer(question, answer))
        return answer

    def _run(self) -> None:
        while True:
            try:
                task = self._inbox.get(timeout=SECONDS_HELD)
            except Empty:
                self._flush()
                continue
            if task is None:
                break
            task()
        self._flush()
        _log.info("%d visits recorded in %s", self._recorded, self.store.path)
        if self._held:
            _log.error("%d more could not be", len(self._held))

    def _hold(self, visit: Response) -> None:
        self._held.append(visit)
        self._bytes += len(visit.body)
        full = len(self._held) % VISITS_HELD == 0 or self._bytes > BYTES_HELD
        if full or time.monotonic() - self._since > SECONDS_HELD:
            self._flush()

    def _forget(self, url: str) -> None:
        for place in reversed(range(len(self._held))):
            if self._held[place].url == url and self._held[place].status == NO_ANSWER:
                del self._held[place]
                return

    def _answer(self, question: Callable[[Store], T], answer: Future[T]) -> None:
        self._flush()
        try:
            answer.set_result(question(self.store))
        except Exception as error:  # noqa: BLE001  # whoever asked gets to see it
            answer.set_exception(error)

    def _flush(self) -> None:
        self._since, self._bytes = time.monotonic(), 0
        if not self._held:
            return
        try:
            self._recorded += self.store.append(to_visits(self._held)).added
        except Exception:  # noqa: BLE001  # whatever it is, the crawl goes on
            lost = len(self._held) >= _GIVEN_UP
            then = f"{len(self._held)} visits are lost" if lost else "it is tried again"
            _log.error("%s took no visits; %s", self.store.path, then, exc_info=True)
            if not lost:
                return
        self._held.clear()
