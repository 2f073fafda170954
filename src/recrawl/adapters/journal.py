"""The thread that uses the store while another crawler runs, so that fetching never waits for disk.

Visits are appended in batches, each completely or not at all: a kill loses only visits that were
not appended yet.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from recrawl.adapters.page_notes import PageNotes
from recrawl.history import Store
from recrawl.model import VISITS
from recrawl.page.responses import NO_ANSWER, Response, to_visits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recrawl.adapters.page_notes import Note
    from recrawl.history import Appended
    from recrawl.model import Time

    BatchListener = Callable[[Sequence[Response], Appended], None]

BATCH_VISITS = 1_000  #: a batch is written with this many visits (it takes 0.2 s even for a few),
BATCH_BYTES = 32 << 20  #: or this many bytes of bodies,
BATCH_SECONDS = 5.0  #: or after this time
_MAX_QUEUED = 1_000  # visits that wait for the thread; then the crawl waits
_MAX_HELD = 5 * BATCH_VISITS  # visits kept while appends fail; then they are dropped

_log = logging.getLogger(__name__)
_open: dict[Path, Journal] = {}
T = TypeVar("T")


def clock() -> Time:
    return time.time()  # noqa: TID251  # a live crawl


class Journal:
    """Records the visits of a running crawl. Spiders of one process share one per store."""

    def __init__(self, path: Path) -> None:
        self.store = Store.open(path, create=True)
        self.store.append(VISITS.empty_table())  # fails now if another process is writing
        self.notes = PageNotes(self.store.path)  #: for functions that `run` calls
        self._users = self._recorded = 0
        self._held: list[Response] = []
        self._noted: list[Note] = []
        self._listeners: list[BatchListener] = []
        self._since, self._bytes = time.monotonic(), 0
        self._inbox: Queue[Callable[[], None] | None] = Queue(_MAX_QUEUED)
        self._thread = Thread(target=self._run, name=f"recrawl {path}", daemon=True)
        self._thread.start()

    @classmethod
    def join(cls, path: str | Path) -> Journal:
        """The journal of a store, which is created if it does not exist; `leave` it in the end."""
        resolved = Path(path).resolve()
        if resolved not in _open:
            _open[resolved] = cls(resolved)
        _open[resolved]._users += 1
        return _open[resolved]

    def leave(self) -> None:
        """Stop using it; after the last user left, all visits are on disk."""
        self._users -= 1
        if self._users:
            return
        self._inbox.put(None)
        self._thread.join()
        self.notes.close()
        self.store.close()
        del _open[self.store.path]

    def listen(self, listener: BatchListener) -> None:
        """Call a function with the visits of each batch, in the thread, once they are on disk."""
        self._listeners.append(listener)

    def add(self, visit: Response, note: Note | None = None) -> None:
        """Record a visit, and keep a note about its page."""
        self._inbox.put(lambda: self._hold(visit, note))

    def retried(self, url: str) -> None:
        """Drop the last failed visit of a page, because its fetch is tried again."""
        self._inbox.put(lambda: self._forget(url))

    def failed(self, url: str, problem: str) -> None:
        """Say why the last failed visit of a page got no answer."""
        self._inbox.put(lambda: self._explain(url, problem))

    def run(self, function: Callable[[Store], T]) -> Future[T]:
        """Call a function with the store, in the thread, after all visits added so far."""
        future: Future[T] = Future()
        self._inbox.put(lambda: self._call(function, future))
        return future

    def _run(self) -> None:
        while True:
            try:
                task = self._inbox.get(timeout=BATCH_SECONDS)
            except Empty:
                self._flush()
                continue
            if task is None:
                break
            task()
        self._flush()
        _log.info("%d visits recorded in %s", self._recorded, self.store.path)
        if self._held:
            _log.error("%d visits could not be recorded", len(self._held))

    def _hold(self, visit: Response, note: Note | None) -> None:
        self._held.append(visit)
        if note is not None:
            self._noted.append(note)
        self._bytes += len(visit.body)
        is_full = len(self._held) % BATCH_VISITS == 0 or self._bytes > BATCH_BYTES
        if is_full or time.monotonic() - self._since > BATCH_SECONDS:
            self._flush()

    def _forget(self, url: str) -> None:
        if (index := self._last_failed(url)) is not None:
            del self._held[index]

    def _explain(self, url: str, problem: str) -> None:
        if (index := self._last_failed(url)) is not None:
            self._held[index] = replace(self._held[index], problem=problem)

    def _last_failed(self, url: str) -> int | None:
        """The place of the last failed visit of a page, if it was not written yet."""
        for index in reversed(range(len(self._held))):
            if self._held[index].url == url and self._held[index].status == NO_ANSWER:
                return index
        return None

    def _call(self, function: Callable[[Store], T], future: Future[T]) -> None:
        self._flush()
        try:
            future.set_result(function(self.store))
        except Exception as error:  # noqa: BLE001  # the caller gets it
            future.set_exception(error)

    def _flush(self) -> None:
        self._since, self._bytes = time.monotonic(), 0
        if not self._held:
            return
        try:
            # Notes first: after a kill, a note without its page does no harm.
            self.notes.write(self._noted)
        except sqlite3.Error as error:
            _log.error("%s: how pages were asked for is lost: %s", self.store.path, error)
        try:
            done = self.store.append(to_visits(self._held))
        except Exception:  # noqa: BLE001  # the crawl continues after any error
            are_lost = len(self._held) >= _MAX_HELD
            effect = f"{len(self._held)} visits are lost" if are_lost else "it is tried again"
            _log.error("%s: visits cannot be written; %s", self.store.path, effect, exc_info=True)
            if not are_lost:
                return
        else:
            self._recorded += done.added
            for listener in self._listeners:
                listener(self._held, done)
        self._held.clear()
        self._noted.clear()
