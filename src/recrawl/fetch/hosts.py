"""Which host may be requested next? One queue per host, and a heap of the times they are free."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MAX_BACKOFF_SECONDS = 300.0
NEVER = float("inf")  #: a time that does not come


@dataclass(slots=True)
class _HostQueue(Generic[T]):
    """What waits for one host, and when the host may be requested."""

    delay: float  #: seconds between the end of a request and the next one
    queue: deque[T] = field(default_factory=deque)
    in_flight: int = 0
    due: float = 0.0  #: no request before this time
    ended: float = -NEVER  #: when its last request ended
    failures: int = 0  #: since the last success
    parked: bool = False  #: has no turn until `wake`
    in_heap: bool = False  #: has an entry in the heap


class HostQueues(Generic[T]):
    """Items to request, in order for each host.

    A host is free again `delay` seconds after its last response. Times are those of one monotonic
    clock, given by the caller. `ready` returns a host whose turn it is; the caller must then call
    `start`, `skip`, `hold` or `park` for it.
    """

    def __init__(self, delay: float, concurrency: int, backoff: float) -> None:
        self._delay = delay
        self._concurrency = concurrency
        self._backoff = backoff
        self._hosts: dict[str, _HostQueue[T]] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._order = count()
        self.waiting = 0  #: items not started

    def put(self, name: str, item: T, *, first: bool = False) -> None:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _HostQueue(self._delay)
        if first:
            host.queue.appendleft(item)
            host.parked = False  # this item may not need what the host waits for
        else:
            host.queue.append(item)
        self.waiting += 1
        self._add_to_heap(name, host)

    def ready(self, now: float) -> str | None:
        """Take the host that has been free for longest off the heap; None if no host is free."""
        while self._heap and self._heap[0][0] <= now:
            _, _, name = heappop(self._heap)
            host = self._hosts[name]
            host.in_heap = False
            if host.due > now:
                self._add_to_heap(name, host)  # its time was moved meanwhile
            elif self._can_start(host):
                return name
        return None

    def next_due(self) -> float:
        """The time at which the next host may be ready; NEVER if none waits."""
        return self._heap[0][0] if self._heap else NEVER

    def head(self, name: str) -> T | None:
        """The first item of a host."""
        queue = self._hosts[name].queue
        return queue[0] if queue else None

    def due(self, name: str) -> float:
        return self._hosts[name].due

    def failures(self, name: str) -> int:
        return self._hosts[name].failures

    def start(self, name: str, now: float) -> T:
        """Take the first item of a host, and count it as in flight."""
        item = self.skip(name)
        self.hold(name, now)
        return item

    def skip(self, name: str) -> T:
        """Take the first item of a host, without a request."""
        host = self._hosts[name]
        self.waiting -= 1
        item = host.queue.popleft()
        self._add_to_heap(name, host)
        return item

    def hold(self, name: str, now: float) -> None:
        """Count a request to a host as in flight."""
        host = self._hosts[name]
        host.in_flight += 1
        host.due = now + host.delay
        self._add_to_heap(name, host)

    def park(self, name: str) -> None:
        """Give a host no turn until `wake`."""
        self._hosts[name].parked = True

    def wake(self, name: str) -> None:
        if host := self._hosts.get(name):
            host.parked = False
            self._add_to_heap(name, host)

    def done(self, name: str, now: float, *, failed: bool = False, pause: float = 0.0) -> None:
        """A request has ended: the host rests, longer if it keeps failing or asks for a `pause`."""
        host = self._hosts[name]
        host.in_flight -= 1
        host.failures = host.failures + 1 if failed else 0
        host.ended = now
        rest = max(host.delay, pause)
        if host.failures:
            rest = max(rest, min(self._backoff * 2.0 ** (host.failures - 1), MAX_BACKOFF_SECONDS))
        host.due = max(host.due, now + rest)
        self._add_to_heap(name, host)

    def raise_delay(self, name: str, delay: float) -> None:
        """Use at least this delay, in seconds, between requests to a host."""
        if host := self._hosts.get(name):
            host.delay = max(host.delay, delay)
            host.due = max(host.due, host.ended + host.delay)

    def remove(self, unwanted: Callable[[T], bool], name: str | None = None) -> list[T]:
        """Remove and return the unwanted items of one host, or of all."""
        removed: list[T] = []
        for host in self._hosts.values() if name is None else [self._hosts[name]]:
            unwanted_items = [item for item in host.queue if unwanted(item)]
            if unwanted_items:
                host.queue = deque(item for item in host.queue if not unwanted(item))
                removed += unwanted_items
        self.waiting -= len(removed)
        return removed

    def reset(self, now: float) -> None:
        """Forget failures, and drop hosts that are idle and free."""
        idle = [n for n, h in self._hosts.items() if not (h.queue or h.in_flight or h.due > now)]
        for name in idle:
            del self._hosts[name]
        for host in self._hosts.values():
            host.failures = 0
        self._heap = []
        for name, host in self._hosts.items():
            host.in_heap = False
            self._add_to_heap(name, host)

    def n_due(self) -> int:
        """How many hosts wait for their turn."""
        return len(self._heap)

    def _can_start(self, host: _HostQueue[T]) -> bool:
        return bool(host.queue) and not host.parked and host.in_flight < self._concurrency

    def _add_to_heap(self, name: str, host: _HostQueue[T]) -> None:
        if not host.in_heap and self._can_start(host):
            host.in_heap = True
            heappush(self._heap, (host.due, next(self._order), name))
