"""Which request is sent now? Obeys host turns, robots.txt, pauses and deadlines.

Everything here runs in the thread of the reactor.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING

from recrawl import urls
from recrawl.fetch import robots
from recrawl.fetch.addresses import is_private
from recrawl.fetch.host_file import KnownHosts
from recrawl.fetch.hosts import NEVER, HostQueues
from recrawl.fetch.result import MAX_BODIES_BYTES, NO_MEMORY, FetchResult, SkippedPage
from recrawl.fetch.robots_cache import RobotsCache
from recrawl.page.responses import NO_ANSWER, NOT_PUBLIC, ROBOTS_FORBIDS, ROBOTS_UNREACHABLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping

    from recrawl.fetch.robots import RobotsRules

ROBOTS_PATH = "/robots.txt"
ROBOTS_ALREADY_READ = "robots.txt is known already"

MAX_HOST_FAILURES = 5  #: in a row; then the host is skipped until the next cycle
MIN_IN_FLIGHT = 4  #: however large bodies are
_LARGE_BODY = 10_000_000  # bytes that are assumed for a body that was stopped
MAX_UNREAD_BYTES = 32 << 20  #: about how many bytes of bodies may wait to be read

#: What a call receives; an error is a bug of ours, None is the end.
CallItem = FetchResult | SkippedPage | BaseException | None


class FutureResult:
    """The result of a call for one auxiliary file, to be awaited."""

    def __init__(self) -> None:
        self.item: asyncio.Future[FetchResult] = asyncio.get_running_loop().create_future()

    def put(self, item: CallItem) -> None:
        if self.item.done():  # nobody waits any more
            return
        if isinstance(item, BaseException):
            self.item.set_exception(item)
        elif isinstance(item, FetchResult):
            self.item.set_result(item)


@dataclass(slots=True, eq=False, kw_only=True)
class FetchCall:
    """One call of `fetch` or `get`: the queue of its results, and when it has to end."""

    deadline: float = NEVER  #: no request is sent after this time
    max_unread: int = 256  #: most results that may wait to be read
    is_auxiliary: bool = False  #: for a file that is no page of the plan
    results: SimpleQueue[CallItem] | FutureResult = field(default_factory=SimpleQueue)
    timer: asyncio.TimerHandle | None = None
    unfinished: int = 0  #: tasks without a result
    unread: int = 0  #: results that are in flight or wait to be read
    unread_bytes: int = 0

    def is_full(self) -> bool:
        """Whether no more pages may be requested before results are read."""
        too_many = self.unread >= self.max_unread or self.unread_bytes >= MAX_UNREAD_BYTES
        return too_many and not self.is_auxiliary


@dataclass(slots=True, eq=False)
class FetchTask:
    """One URL to request."""

    url: str
    call: FetchCall | None  #: None: the task is for a robots.txt
    headers: Mapping[str, str]
    origin: str  #: scheme and host whose robots.txt applies to it
    redirects: int = 0


class Dispatcher:
    """Sends each request when its host is free, and each result to its call."""

    def __init__(
        self,
        download: Callable[[str, Mapping[str, str]], Awaitable[FetchResult]],
        *,
        hosts: HostQueues[FetchTask],
        concurrency: int,
        allow_private: bool,
        clock: Callable[[], float],
        address_of: Callable[[str], Awaitable[str | None]],
    ) -> None:
        self._download = download
        self._address_of = address_of
        self._hosts = hosts
        self._concurrency = concurrency
        self._allow_private = allow_private
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._robots = RobotsCache()
        self._stalled: list[str] = []  # hosts whose next task belongs to a full call
        self._calls: set[FetchCall] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._mean_body = 0.0  # bytes of the last bodies
        self.in_flight = 0
        self.failed = 0
        self.fetched = 0

    # Calls

    def start(self, call: FetchCall, requests: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        """Queue the URLs of a call, in their order."""
        if not call.is_auxiliary:
            self._hosts.reset(self._loop.time(), MAX_HOST_FAILURES - 1)
        self._calls.add(call)
        names: set[str] = set()
        for url, headers in requests:
            call.unfinished += 1
            task = FetchTask(url, call, headers, _origin(url))
            name = urls.host(url)
            self._hosts.put(name, task, place=self._place(name) if call.is_auxiliary else None)
            names.add(name)
        if call.deadline < NEVER:
            call.timer = self._loop.call_at(call.deadline, self.stop, call, "the cycle is over")
        self._finish_if_done(call)
        for name in names:
            self._drop_unreachable(name)
        self.send_ready()

    def unread_bytes(self) -> int:
        """Bytes of the bodies that wait to be read."""
        return sum(call.unread_bytes for call in self._calls)

    def _place(self, name: str) -> int:
        """Where an auxiliary file has its turn: after one page, so that it does not delay many."""
        head = self._hosts.head(name)
        return 0 if head is None or (head.call and head.call.is_full()) else 1

    def stop(self, call: FetchCall, reason: str) -> None:
        """Send no more requests of a call; those in flight still give results."""
        if call in self._calls:
            for task in self._hosts.remove(lambda task: task.call is call):
                self._skip(task, reason)
            self.send_ready()

    def acknowledge(self, call: FetchCall, results: int, size: int) -> None:
        """Note that results of a call were read, `size` bytes in all."""
        call.unread -= results
        call.unread_bytes -= size
        if self._stalled and not call.is_full():
            stalled, self._stalled = self._stalled, []
            for name in stalled:
                self._hosts.wake(name)
            self.send_ready()

    async def restore(self, known: KnownHosts) -> None:
        """Obey what hosts asked an earlier process for.

        It may have sent its last requests just now, so each host rests for its delay first.
        """
        now = self._loop.time()
        for origin, rules in known.robots.items():
            self._robots.keep(origin, rules)
            delay = max(rules.delay, self._hosts.delay)
            self._hosts.restore(urls.host(origin + "/"), now + delay)
        for name, (pause, failures) in known.hosts.items():
            self._hosts.restore(name, now + pause, failures)

    async def known(self, *, only_new: bool) -> KnownHosts:
        """What hosts asked for: all that still holds, or what is new since the last call."""
        robots, resting = self._robots.known(self._clock()), self._hosts.resting(self._loop.time())
        if only_new:
            robots = {each: robots[each] for each in self._robots.changed & robots.keys()}
            resting = {name: resting.get(name, (0.0, 0)) for name in self._hosts.changed}
        self.forget_news()
        return KnownHosts(resting, robots)

    def forget_news(self) -> None:
        """Count all that hosts asked for as kept."""
        self._robots.changed.clear()
        self._hosts.changed.clear()

    @property
    def has_news(self) -> bool:
        """Whether `known` has something new."""
        return bool(self._robots.changed or self._hosts.changed)

    def sitemaps(self, host: str) -> list[str]:
        """The sitemaps that robots.txt of a host names, as far as it is known."""
        return self._robots.sitemaps(host)

    async def delays(self) -> dict[str, float]:
        """The known Crawl-delays in seconds, by host."""
        return self._robots.delays()

    # Turns

    def send_ready(self) -> None:
        """Send all requests that may be sent now; a timer calls this again when more may."""
        now = self._loop.time()
        while self._has_room():
            name = self._hosts.ready(now)
            if name is None:
                break
            self._take_turn(name, now)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._hosts.next_due()
        if due < NEVER and self._has_room():
            self._timer = self._loop.call_at(due, self.send_ready)

    def _has_room(self) -> bool:
        """Whether one more request may be in flight: fewer may be while bodies are large."""
        affordable = MAX_BODIES_BYTES / 2 / max(self._mean_body, 1.0)
        return self.in_flight < min(self._concurrency, max(affordable, MIN_IN_FLIGHT))

    def _take_turn(self, name: str, now: float) -> None:
        """Send or skip the first task of a host whose turn it is, or request its robots.txt."""
        task = self._hosts.head(name)
        assert task is not None  # `ready` names hosts with work
        if not self._allow_private and is_private(task.url):
            self._skip(self._hosts.skip(name), NOT_PUBLIC)
        elif not self._hosts.is_located(name):
            self._hosts.park(name)
            self._begin(self._locate(name))
        elif task.call is None:
            self._send(name, self._hosts.start(name, now))
        elif rules := self._robots.get(task.origin, self._clock()):
            self._send_or_skip(name, task, task.call, rules)
        else:
            self._hosts.park(name)
            if not self._robots.is_requested(task.origin):
                self._robots.mark_requested(task.origin)
                self._hosts.hold(name, now)
                self._send(name, FetchTask(task.origin + ROBOTS_PATH, None, {}, task.origin))

    def _send_or_skip(
        self, name: str, task: FetchTask, call: FetchCall, rules: RobotsRules
    ) -> None:
        """Send the first task of a host if robots.txt and the unread results allow it."""
        now = self._loop.time()
        self._hosts.raise_delay(name, rules.delay)
        if call.is_auxiliary and task.url == task.origin + ROBOTS_PATH:
            self._skip(self._hosts.skip(name), ROBOTS_ALREADY_READ)
        elif not (rules.reachable and rules.allows(task.url)):
            reason = ROBOTS_FORBIDS if rules.reachable else ROBOTS_UNREACHABLE
            self._skip(self._hosts.skip(name), reason)
        elif call.is_full() and not self._hosts.bring_forward(name, _is_auxiliary):
            self._hosts.park(name)
            self._stalled.append(name)
        elif call.is_full():
            self._hosts.wake(name)
        else:
            self._send(name, self._hosts.start(name, now))

    # Requests and results

    def _send(self, name: str, task: FetchTask) -> None:
        if task.call is not None:
            task.call.unread += 1
        self._begin(self._fetch(name, task))

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        """Run a request or a lookup, and count it as in flight."""
        self.in_flight += 1
        request_task = self._loop.create_task(work)
        self._tasks.add(request_task)
        request_task.add_done_callback(self._report_error)

    async def _locate(self, name: str) -> None:
        """Find out at which address a host is, before its first request."""
        address = await self._address_of(name)
        self.in_flight -= 1
        self._hosts.locate(name, address)
        self._hosts.wake(name)
        self.send_ready()

    def _report_error(self, request_task: asyncio.Task[None]) -> None:
        """Pass an unexpected error to all calls, so that none waits for ever."""
        self._tasks.discard(request_task)
        if not request_task.cancelled() and (error := request_task.exception()):
            for call in self._calls:
                call.results.put(error)

    async def _fetch(self, name: str, task: FetchTask) -> None:
        result = await self._download(task.url, task.headers)
        self.in_flight -= 1
        size = _LARGE_BODY if result.problem == NO_MEMORY else len(result.body)
        self._mean_body += (size - self._mean_body) / 8
        self._hosts.done(
            name,
            self._loop.time(),
            failed=result.is_host_problem,
            pause=result.retry_after(self._clock()),
        )
        if task.call is None:
            self._handle_robots(task, result)
        else:
            self._deliver(task, task.call, result)
        self._drop_unreachable(name)
        self.send_ready()

    def _drop_unreachable(self, name: str) -> None:
        """Skip the tasks of a host that does not answer, or that rests beyond their deadline."""
        if self._hosts.failures(name) >= MAX_HOST_FAILURES:
            tasks = self._hosts.remove(lambda _: True, name)
            for task in sorted(tasks, key=lambda task: task.call is not None):
                rules = self._robots.get(task.origin, self._clock())
                is_read = rules is None or rules.reachable
                self._skip(task, "the host does not answer" if is_read else ROBOTS_UNREACHABLE)
            return
        due = self._hosts.due(name)
        if due > min((call.deadline for call in self._calls), default=NEVER):
            late = self._hosts.remove(
                lambda task: bool(task.call and due > task.call.deadline), name
            )
            for task in late:
                self._skip(task, "the host asked for a longer pause")

    def _deliver(self, task: FetchTask, call: FetchCall, result: FetchResult) -> None:
        target = result.target if call.is_auxiliary and result.is_redirect else None
        if target and task.redirects < robots.MAX_REDIRECTS:
            call.unread -= 1
            redirected = FetchTask(target, call, task.headers, _origin(target), task.redirects + 1)
            self._hosts.put(urls.host(target), redirected, place=0)
            return
        if result.problem:
            self.failed += 1
        elif not call.is_auxiliary:
            self.fetched += 1
        call.unread_bytes += len(result.body)
        call.results.put(result)
        call.unfinished -= 1
        self._finish_if_done(call)

    def _skip(self, task: FetchTask, reason: str) -> None:
        """Drop a task; a failed visit if robots.txt is unreachable or the address is not public."""
        call = task.call
        if call is None:
            self._keep_robots(task.origin, robots.unreachable(self._clock()))
            return
        call.unfinished -= 1
        if call.is_auxiliary or reason in (ROBOTS_UNREACHABLE, NOT_PUBLIC):
            call.unread += 1
            self.failed += not call.is_auxiliary
            call.results.put(
                FetchResult(task.url, self._clock(), NO_ANSWER, {}, b"", None, problem=reason)
            )
        else:
            call.results.put(SkippedPage(task.url, reason))
        self._finish_if_done(call)

    def _finish_if_done(self, call: FetchCall) -> None:
        if not call.unfinished:
            self._calls.discard(call)
            if call.timer is not None:
                call.timer.cancel()
            call.results.put(None)

    # robots.txt

    def _handle_robots(self, task: FetchTask, result: FetchResult) -> None:
        """Use the response to a request for a robots.txt, or follow its redirect."""
        target = result.target if result.is_redirect else None
        if target and task.redirects < robots.MAX_REDIRECTS:
            redirected = FetchTask(target, None, {}, task.origin, task.redirects + 1)
            self._hosts.put(urls.host(target), redirected, place=0)
        elif rules := self._robots.interpret(task.origin, result, self._clock()):
            self._keep_robots(task.origin, rules)
        else:  # once more, without the redirects
            again = FetchTask(task.origin + ROBOTS_PATH, None, {}, task.origin)
            self._hosts.put(urls.host(again.url), again, place=0)

    def _keep_robots(self, origin: str, rules: RobotsRules) -> None:
        """Store the rules of an origin and resume its host."""
        host = urls.host(origin + "/")
        self._hosts.raise_delay(host, self._robots.keep(origin, rules).delay)
        self._hosts.wake(host)


def _is_auxiliary(task: FetchTask) -> bool:
    return task.call is None or task.call.is_auxiliary


def _origin(url: str) -> str:
    return f"{url.partition('://')[0]}://{urls.host(url)}"
