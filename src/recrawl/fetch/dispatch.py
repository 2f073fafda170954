"""Which request goes out now? Hosts' turns, robots.txt, pauses and deadlines.

All of it runs in the thread of the reactor.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from recrawl import urls
from recrawl.fetch import robots
from recrawl.fetch.addresses import is_private
from recrawl.fetch.answer import REFUSED, Answer, Skipped
from recrawl.fetch.hosts import NEVER, Hosts
from recrawl.fetch.robots_cache import RobotsCache
from recrawl.page.responses import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from recrawl.fetch.robots import Robots

ROBOTS = "/robots.txt"
FORBIDDEN = "robots.txt forbids it"
UNREACHABLE = "robots.txt cannot be read"
KNOWN = "it has been read"

GIVE_UP = 5  #: failures in a row after which a host is left alone until the next cycle
MOST_BYTES = 64 << 20  #: about the most that waits to be read

#: An outcome, an error of ours, or None: no more.
Item = Answer | Skipped | BaseException | None


class Run:
    """One call of `fetch` or `get`: where its answers go, and when it has to end."""

    def __init__(self, *, ends: float = NEVER, room: int = 256, auxiliary: bool = False) -> None:
        self.answers: SimpleQueue[Item] = SimpleQueue()
        self.ends = ends
        self.alarm: asyncio.TimerHandle | None = None
        self.room = room  #: most answers that may wait to be read
        self.auxiliary = auxiliary
        self.left = 0  #: tasks without an outcome
        self.unread = 0  #: answers under way or not yet read
        self.unread_bytes = 0

    def is_full(self) -> bool:
        """Whether whoever reads the answers is behind; auxiliary answers are few."""
        crowded = self.unread >= self.room or self.unread_bytes >= MOST_BYTES
        return crowded and not self.auxiliary


@dataclass(slots=True, eq=False)
class Task:
    """One URL to ask for."""

    url: str
    run: Run | None  #: None: it is a robots.txt, for our own use
    headers: Mapping[str, str]
    origin: str  #: whose robots.txt holds for it, or whose it is
    hops: int = 0


class Dispatcher:
    """Sends requests out when their hosts may be asked, and their answers to their runs."""

    def __init__(
        self,
        download: Callable[[str, Mapping[str, str]], Awaitable[Answer]],
        *,
        hosts: Hosts[Task],
        concurrency: int,
        allow_private: bool,
        clock: Callable[[], float],
    ) -> None:
        self._download = download
        self._hosts = hosts
        self._concurrency = concurrency
        self._allow_private = allow_private
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._robots = RobotsCache()
        self._stalled: list[str] = []  # hosts whose next page's run is full
        self._runs: set[Run] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.in_flight = 0
        self.failed = 0
        self.fetched = 0

    # Runs

    def begin(self, run: Run, asked: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        """Take the URLs of a run, in their order."""
        if not self._runs:
            self._hosts.forget(self._loop.time())
        self._runs.add(run)
        names: set[str] = set()
        for url, headers in asked:
            run.left += 1
            task = Task(url, run, headers, _origin(url))
            name = urls.host(url)
            self._hosts.put(name, task, first=run.auxiliary)
            names.add(name)
        if run.ends < NEVER:
            run.alarm = self._loop.call_at(run.ends, self.end, run, "the cycle is over")
        self._close_if_done(run)
        for name in names:
            self._leave_alone(name)
        self.pump()

    def end(self, run: Run, reason: str) -> None:
        """Let what is in flight come back, and ask for no more."""
        if run in self._runs:
            for task in self._hosts.remove(lambda task: task.run is run):
                self._skip(task, reason)
            self.pump()

    def read(self, run: Run, answers: int, size: int) -> None:
        """Answers of a run were read."""
        run.unread -= answers
        run.unread_bytes -= size
        if self._stalled and not run.is_full():
            stalled, self._stalled = self._stalled, []
            for name in stalled:
                self._hosts.wake(name)
            self.pump()

    def sitemaps(self, host: str) -> list[str]:
        """What the robots.txt of a host names, for those of its schemes that were asked."""
        return self._robots.sitemaps(host)

    # Turns

    def pump(self) -> None:
        """Start all that may start, and come back when more may."""
        now = self._loop.time()
        while self.in_flight < self._concurrency:
            name = self._hosts.ready(now)
            if name is None:
                break
            self._turn(name, now)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._hosts.next_due()
        if due < NEVER and self.in_flight < self._concurrency:
            self._timer = self._loop.call_at(due, self.pump)

    def _turn(self, name: str, now: float) -> None:
        """It is a host's turn: ask for its first item, or find out why not."""
        task = self._hosts.head(name)
        assert task is not None  # `ready` names hosts with work
        if not self._allow_private and is_private(task.url):
            self._skip(self._hosts.skip(name), REFUSED)
        elif task.run is None:
            self._send(name, self._hosts.start(name, now))
        elif known := self._robots.get(task.origin, self._clock()):
            self._go(name, task, task.run, known)
        else:
            self._hosts.park(name)
            if not self._robots.is_asked(task.origin):
                self._robots.ask(task.origin)
                self._hosts.hold(name, now)
                self._send(name, Task(task.origin + ROBOTS, None, {}, task.origin))

    def _go(self, name: str, task: Task, run: Run, known: Robots) -> None:
        """It is the turn of a task that robots.txt has a say in."""
        now = self._loop.time()
        self._hosts.slower(name, known.delay)
        if run.auxiliary and task.url == task.origin + ROBOTS:
            self._skip(self._hosts.skip(name), KNOWN)  # and need not be asked for twice
        elif not (known.reachable and known.allows(task.url)):
            reason = FORBIDDEN if known.reachable else UNREACHABLE
            self._skip(self._hosts.skip(name), reason)
        elif run.is_full():
            self._hosts.park(name)
            self._stalled.append(name)
        else:
            self._send(name, self._hosts.start(name, now))

    # Requests and answers

    def _send(self, name: str, task: Task) -> None:
        self.in_flight += 1
        if task.run is not None:
            task.run.unread += 1
        sent = self._loop.create_task(self._ask(name, task))
        self._tasks.add(sent)
        sent.add_done_callback(self._ended)

    def _ended(self, sent: asyncio.Task[None]) -> None:
        """Nobody may wait for ever because of an error of ours."""
        self._tasks.discard(sent)
        if not sent.cancelled() and (error := sent.exception()):
            for run in self._runs:
                run.answers.put(error)

    async def _ask(self, name: str, task: Task) -> None:
        answer = await self._download(task.url, task.headers)
        self.in_flight -= 1
        self._hosts.done(
            name,
            self._loop.time(),
            failed=answer.blames_host,
            pause=answer.retry_after(self._clock()),
        )
        if task.run is None:
            self._learn(task, answer)
        else:
            self._deliver(task, task.run, answer)
        self._leave_alone(name)
        self.pump()

    def _leave_alone(self, name: str) -> None:
        """Skip what waits for a host that does not answer, or not before its run has to end."""
        if self._hosts.failures(name) >= GIVE_UP:
            for task in self._hosts.remove(lambda _: True, name):
                self._skip(task, "the host does not answer")
            return
        due = self._hosts.due(name)
        if (head := self._hosts.head(name)) and head.run and due > head.run.ends:
            late = self._hosts.remove(lambda task: bool(task.run and due > task.run.ends), name)
            for task in late:
                self._skip(task, "the host asked for a longer pause")

    def _deliver(self, task: Task, run: Run, answer: Answer) -> None:
        target = answer.target if run.auxiliary and answer.is_redirect else None
        if target and task.hops < robots.MOST_HOPS:
            run.unread -= 1
            onward = Task(target, run, task.headers, _origin(target), task.hops + 1)
            self._hosts.put(urls.host(target), onward, first=True)
            return
        if answer.problem:
            self.failed += 1
        elif not run.auxiliary:
            self.fetched += 1
        run.unread_bytes += len(answer.body)
        run.answers.put(answer)
        run.left -= 1
        self._close_if_done(run)

    def _skip(self, task: Task, reason: str) -> None:
        """No request for it. A page that we wanted but could not ask for is a failed visit."""
        run = task.run
        if run is None:
            self._settle(task.origin, robots.unreachable(self._clock()))
            return
        run.left -= 1
        if run.auxiliary or reason in (UNREACHABLE, REFUSED):
            run.unread += 1
            self.failed += not run.auxiliary
            run.answers.put(
                Answer(task.url, self._clock(), NO_ANSWER, {}, b"", None, problem=reason)
            )
        else:
            run.answers.put(Skipped(task.url, reason))
        self._close_if_done(run)

    def _close_if_done(self, run: Run) -> None:
        if not run.left:
            self._runs.discard(run)
            if run.alarm is not None:
                run.alarm.cancel()
            run.answers.put(None)

    # robots.txt

    def _learn(self, task: Task, answer: Answer) -> None:
        """An answer to the request for a robots.txt, or for what it redirects to."""
        target = answer.target if answer.is_redirect and task.hops < robots.MOST_HOPS else None
        if target:
            onward = Task(target, None, {}, task.origin, task.hops + 1)
            self._hosts.put(urls.host(target), onward, first=True)
        elif found := self._robots.read(task.origin, answer, self._clock()):
            self._settle(task.origin, found)
        else:  # again from the beginning
            again = Task(task.origin + ROBOTS, None, {}, task.origin)
            self._hosts.put(urls.host(again.url), again, first=True)

    def _settle(self, origin: str, found: Robots) -> None:
        """What holds for an origin is known: its host may go on."""
        host = urls.host(origin + "/")
        self._hosts.slower(host, self._robots.settle(origin, found).delay)
        self._hosts.wake(host)


def _origin(url: str) -> str:
    return f"{url.partition('://')[0]}://{urls.host(url)}"
