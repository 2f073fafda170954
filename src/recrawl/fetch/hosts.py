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
MAX_IDLE_HOSTS = 20_000  #: hosts without work of which pauses and failures are remembered
NEVER = float("inf")  #: a time that does not come

#: Requests in flight at one address, whatever the names: as many as a browser opens to one host.
#: Big CDNs serve thousands of sites from one address, so one at a time would be too few.
ADDRESS_CONCURRENCY = 6


@dataclass(slots=True)
class _Address:
    """A machine, by its address: which hosts wait for it, and when it may be requested."""

    waiting: deque[str] = field(default_factory=deque)
    in_flight: int = 0
    due: float = 0.0  #: no request before this time
    in_heap: bool = False


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
    queued: bool = False  #: has an entry in the heap, or waits for its address
    address: _Address | None = None  #: None: not known, or not limited
    is_located: bool = False


class HostQueues(Generic[T]):
    """Items to request, in order for each host.

    A host is free again `delay` seconds after its last response. Hosts at one address share it: it
    has at most ADDRESS_CONCURRENCY requests in flight, and that many in `delay` seconds. Times are
    those of one monotonic clock, given by the caller. `ready` returns a host whose turn it is; the
    caller must then call `start`, `skip`, `hold` or `park` for it.
    """

    def __init__(self, delay: float, concurrency: int, backoff: float) -> None:
        self.delay = delay  #: of a host that asks for no longer one
        self._concurrency = concurrency
        self._backoff = backoff
        self._address_concurrency = max(ADDRESS_CONCURRENCY, concurrency)
        self._hosts: dict[str, _HostQueue[T]] = {}
        self._addresses: dict[str, _Address] = {}
        self._heap: list[tuple[float, int, str | _Address]] = []
        self._order = count()
        self.waiting = 0  #: items not started
        self.n_due = 0  #: hosts that wait for their turn
        self.changed: set[str] = set()  #: hosts with new pauses or failures since this was cleared

    def put(self, name: str, item: T, *, place: int | None = None) -> None:
        """Add an item at a place in the queue of a host; None: at the end."""
        host = self._host(name)
        host.queue.insert(len(host.queue) if place is None else place, item)
        if place == 0:
            host.parked = False  # this item may not need what the host waits for
        self.waiting += 1
        self._add_to_heap(name, host)

    def ready(self, now: float) -> str | None:
        """Take the host that has been free for longest off the heap; None if no host is free."""
        while self._heap and self._heap[0][0] <= now:
            _, _, entry = heappop(self._heap)
            if isinstance(entry, _Address):
                entry.in_heap = False
                name = self._next_at(entry, now)
            else:
                name = entry
            if name is not None and self._has_turn(name, now, is_first=name is not entry):
                return name
        return None

    def _next_at(self, address: _Address, now: float) -> str | None:
        """The host that has waited longest for an address; None if the address is not free."""
        if address.waiting and self._is_free(address, now):
            name = address.waiting.popleft()
        else:
            name = None
        self._add_address(address)
        return name

    def _has_turn(self, name: str, now: float, *, is_first: bool) -> bool:
        """Whether a host may be requested now; else it is queued again, if it has work."""
        host = self._hosts[name]
        if self._can_start(host) and host.due <= now and host.address is not None:
            others = host.address.waiting and not is_first
            if others or not self._is_free(host.address, now):
                host.address.waiting.append(name)
                self._add_address(host.address)
                return False
        host.queued = False
        self.n_due -= 1
        if host.due > now:
            self._add_to_heap(name, host)  # its time was moved meanwhile
            return False
        return self._can_start(host)

    def next_due(self) -> float:
        """The time at which the next host may be ready; NEVER if none waits."""
        return self._heap[0][0] if self._heap else NEVER

    def head(self, name: str) -> T | None:
        """The first item of a host; None if it has none."""
        host = self._hosts.get(name)
        return host.queue[0] if host and host.queue else None

    def bring_forward(self, name: str, wanted: Callable[[T], bool]) -> bool:
        """Put the first wanted item of a host before all others. Returns whether there is one."""
        queue = self._hosts[name].queue
        for place, item in enumerate(queue):
            if wanted(item):
                del queue[place]
                queue.appendleft(item)
                return True
        return False

    def due(self, name: str) -> float:
        return self._hosts[name].due

    def failures(self, name: str) -> int:
        return self._hosts[name].failures

    def is_located(self, name: str) -> bool:
        """Whether it was said at which address a host is."""
        return self._hosts[name].is_located

    def locate(self, name: str, address: str | None) -> None:
        """Say at which address a host is; None: its address is not limited."""
        host = self._host(name)
        host.is_located = True
        if address is None:
            return
        new = self._addresses.setdefault(address, _Address())
        if host.address is not None:
            host.address.in_flight -= host.in_flight
        new.in_flight += host.in_flight
        host.address = new

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
        if host.address is not None:
            host.address.in_flight += 1
            host.address.due = now + self.delay / self._address_concurrency
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
        if host.address is not None:
            host.address.in_flight -= 1
            self._add_address(host.address)
        if failed or host.failures or pause:
            self.changed.add(name)
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

    def restore(self, name: str, due: float, failures: int = 0) -> None:
        """Take over what an earlier process knew of a host."""
        host = self._host(name)
        host.due = max(host.due, due)
        host.failures = max(host.failures, failures)

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

    def reset(self, now: float, max_failures: int) -> None:
        """Drop hosts that are idle and have no pause or failure; look up addresses again.

        A host keeps its failures, up to `max_failures`, so it has fewer tries than others.
        """
        idle = {n: h for n, h in self._hosts.items() if not (h.queue or h.in_flight)}
        resting = [name for name, host in idle.items() if host.due > now or host.failures]
        resting.sort(key=lambda name: idle[name].due)
        for name in idle.keys() - set(resting[-MAX_IDLE_HOSTS:]):
            del self._hosts[name]
        self._heap = []
        self.n_due = 0
        self._addresses = {
            a: at for a, at in self._addresses.items() if at.in_flight or at.due > now
        }
        for address in self._addresses.values():
            address.waiting.clear()
            address.in_heap = False
        for name, host in self._hosts.items():
            host.failures = min(host.failures, max_failures)
            if not host.in_flight:
                host.address, host.is_located = None, False
            host.queued = False
            self._add_to_heap(name, host)

    def resting(self, now: float) -> dict[str, tuple[float, int]]:
        """Hosts that have a pause or failed: seconds until they may be requested, and failures."""
        return {
            name: (max(host.due - now, 0.0), host.failures)
            for name, host in self._hosts.items()
            if host.due > now or host.failures
        }

    def _host(self, name: str) -> _HostQueue[T]:
        if name not in self._hosts:
            self._hosts[name] = _HostQueue(self.delay)
        return self._hosts[name]

    def _can_start(self, host: _HostQueue[T]) -> bool:
        return bool(host.queue) and not host.parked and host.in_flight < self._concurrency

    def _is_free(self, address: _Address, now: float) -> bool:
        return address.in_flight < self._address_concurrency and address.due <= now

    def _add_to_heap(self, name: str, host: _HostQueue[T]) -> None:
        if not host.queued and self._can_start(host):
            host.queued = True
            self.n_due += 1
            heappush(self._heap, (host.due, next(self._order), name))

    def _add_address(self, address: _Address) -> None:
        """Give an address a turn when it is due, if hosts wait for it and it has room."""
        has_room = address.in_flight < self._address_concurrency
        if address.waiting and has_room and not address.in_heap:
            address.in_heap = True
            heappush(self._heap, (address.due, next(self._order), address))
