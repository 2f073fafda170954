"""Whose turn is it? A queue a host, and a heap of the times at which each may be asked again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

LONGEST_BACKOFF = 300.0  #: seconds
NEVER = float("inf")  #: as a time


@dataclass(slots=True)
class _Host(Generic[T]):
    """What waits for one host, and what we owe it."""

    delay: float
    queue: deque[T] = field(default_factory=deque)
    in_flight: int = 0
    due: float = 0.0  #: no request before
    ended: float = -NEVER  #: its last request
    failures: int = 0  #: since the last success
    parked: bool = False  #: waits for something other than time
    listed: bool = False  #: has an entry in the heap


class Hosts(Generic[T]):
    """Items by host, each host's in the order they came.

    A host is free again `delay` seconds after its last answer. Times are those of one monotonic
    clock, given by the caller. `ready` names a host whose turn it is; the caller must then `start`,
    `skip`, `hold` or `park` it.
    """

    def __init__(self, delay: float, concurrency: int, backoff: float) -> None:
        self._delay = delay
        self._concurrency = concurrency
        self._backoff = backoff
        self._hosts: dict[str, _Host[T]] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._order = count()
        self.waiting = 0  #: items not started

    def put(self, name: str, item: T, *, first: bool = False) -> None:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host(self._delay)
        if first:
            host.queue.appendleft(item)
            host.parked = False  # whatever it waits for, this item may not need it
        else:
            host.queue.append(item)
        self.waiting += 1
        self._list(name, host)

    def ready(self, now: float) -> str | None:
        """The host that has been free for longest, taken off the heap."""
        while self._heap and self._heap[0][0] <= now:
            _, _, name = heappop(self._heap)
            host = self._hosts[name]
            host.listed = False
            if host.due > now:
                self._list(name, host)  # it was put off meanwhile
            elif self._can_go(host):
                return name
        return None

    def next_due(self) -> float:
        """When to ask again whether any is ready."""
        return self._heap[0][0] if self._heap else NEVER

    def head(self, name: str) -> T | None:
        """What comes first at a host."""
        queue = self._hosts[name].queue
        return queue[0] if queue else None

    def due(self, name: str) -> float:
        return self._hosts[name].due

    def failures(self, name: str) -> int:
        return self._hosts[name].failures

    def start(self, name: str, now: float) -> T:
        """The host's first item, now in flight."""
        item = self.skip(name)
        self.hold(name, now)
        return item

    def skip(self, name: str) -> T:
        """The host's first item, which needs no request."""
        host = self._hosts[name]
        self.waiting -= 1
        item = host.queue.popleft()
        self._list(name, host)
        return item

    def hold(self, name: str, now: float) -> None:
        """Count a request that is not in the queue."""
        host = self._hosts[name]
        host.in_flight += 1
        host.due = now + host.delay
        self._list(name, host)

    def park(self, name: str) -> None:
        """Leave it alone until `wake`."""
        self._hosts[name].parked = True

    def wake(self, name: str) -> None:
        if host := self._hosts.get(name):
            host.parked = False
            self._list(name, host)

    def done(self, name: str, now: float, *, failed: bool = False, pause: float = 0.0) -> None:
        """A request has ended: the host rests, longer if it keeps failing, or asks for it."""
        host = self._hosts[name]
        host.in_flight -= 1
        host.failures = host.failures + 1 if failed else 0
        host.ended = now
        rest = max(host.delay, pause)
        if host.failures:
            rest = max(rest, min(self._backoff * 2.0 ** (host.failures - 1), LONGEST_BACKOFF))
        host.due = max(host.due, now + rest)
        self._list(name, host)

    def slower(self, name: str, delay: float) -> None:
        """It asked for more time between requests."""
        if host := self._hosts.get(name):
            host.delay = max(host.delay, delay)
            host.due = max(host.due, host.ended + host.delay)

    def remove(self, unwanted: Callable[[T], bool], name: str | None = None) -> list[T]:
        """Take out what is unwanted of one host, or of all."""
        removed: list[T] = []
        for host in self._hosts.values() if name is None else [self._hosts[name]]:
            gone = [item for item in host.queue if unwanted(item)]
            if gone:
                host.queue = deque(item for item in host.queue if not unwanted(item))
                removed += gone
        self.waiting -= len(removed)
        return removed

    def forget(self, now: float) -> None:
        """Begin anew with hosts that failed, and drop those to which we owe nothing."""
        idle = [n for n, h in self._hosts.items() if not (h.queue or h.in_flight or h.due > now)]
        for name in idle:
            del self._hosts[name]
        for host in self._hosts.values():
            host.failures = 0
        self._heap = []
        for name, host in self._hosts.items():
            host.listed = False
            self._list(name, host)

    def busy(self) -> int:
        """How many hosts wait for their turn."""
        return len(self._heap)

    def _can_go(self, host: _Host[T]) -> bool:
        return bool(host.queue) and not host.parked and host.in_flight < self._concurrency

    def _list(self, name: str, host: _Host[T]) -> None:
        if not host.listed and self._can_go(host):
            host.listed = True
            heappush(self._heap, (host.due, next(self._order), name))
