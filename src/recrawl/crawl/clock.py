"""What time is it, and when is it later? Real time, or the time of a simulated web.

The time of a crawl follows a clock, but never goes back: see `ForwardClock`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.request import ProxyHandler, build_opener

from recrawl import units
from recrawl.errors import BadInput
from recrawl.model import DAY

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import Time

_log = logging.getLogger(__name__)

MAX_SILENT_STEP_SECONDS = 60.0  #: by which the clock may be set back without a warning
MAX_SLEEP_SECONDS = 0.2  #: a request to stop is noticed within this time
_SPEED_AHEAD = 0.5
TIME_URL = "http://recrawl.admin/time"  #: where a living web reports its time


class Clock(Protocol):
    """What a crawl needs of a clock."""

    def now(self) -> Time: ...

    def real_seconds(self, seconds: float) -> float:
        """How many real seconds a duration of this clock takes."""

    def wait(self, until: Time, stopped: Callable[[], bool]) -> None:
        """Sleep until a time, or until `stopped` returns true."""


class WallClock:
    """The clock of the machine, which counts the hours of a suspend, and which may be set."""

    def now(self) -> Time:
        return time.time()  # noqa: TID251 - a live crawl reads a clock

    def real_seconds(self, seconds: float) -> float:
        return seconds

    def wait(self, until: Time, stopped: Callable[[], bool]) -> None:
        while not stopped() and (left := until - self.now()) > 0:
            time.sleep(min(left, MAX_SLEEP_SECONDS))


class ForwardClock:
    """Follows another clock, but never goes back.

    If that clock is behind, because it was set back or a visit is dated ahead of it, this one runs
    on from where it is, at half the speed, until that clock has caught up. It follows a jump
    forward at once, but only up to that clock: a wrong time that is corrected leaves it right.
    """

    def __init__(self, source: Clock, real: Callable[[], float] = time.monotonic) -> None:
        """`real` counts real seconds, whatever the clock is set to."""
        self._source = source
        self._real = real
        self._seen = self._now = source.now()
        self._counted = real()
        self._lock = threading.Lock()

    def advance(self, at: Time) -> None:
        """Be at least at a time."""
        with self._lock:
            self._now = max(self._now, at)

    def now(self) -> Time:
        with self._lock:
            seen, counted = self._source.now(), self._real()
            passed = seen - self._seen
            if passed < -MAX_SILENT_STEP_SECONDS:
                _log.warning(
                    "The clock was set back by %s. The time of the crawl runs on at half the speed "
                    "until the clock has caught up.",
                    units.show_days(-passed / DAY),
                )
            # A clock that jumps forward has not run for that time.
            ran = (counted - self._counted) / self._source.real_seconds(1.0)
            passed = min(max(passed, 0.0), ran)
            self._seen, self._counted = seen, counted
            self._now = max(seen, self._now + passed * _SPEED_AHEAD)
            return self._now

    def real_seconds(self, seconds: float) -> float:
        return self._source.real_seconds(seconds)

    def wait(self, until: Time, stopped: Callable[[], bool]) -> None:
        while not stopped() and (left := until - self.now()) > 0:
            self._wait_once(until, left, stopped)

    def _wait_once(self, until: Time, left: float, stopped: Callable[[], bool]) -> None:
        """Wait for the other clock; less long if that one is set back meanwhile."""
        seen = self._seen
        # It is late enough when the other clock says so, whatever the speed of this one.
        wake = min(seen + left / _SPEED_AHEAD, until) if self._now > seen else seen + left
        self._source.wait(wake, lambda: stopped() or self._source.now() < seen)


@dataclass(frozen=True)
class CrawlClock:
    """A clock that starts at `begin` and runs `speed` times as fast as real time."""

    begin: Time
    speed: float = 1.0
    _started: float = field(default_factory=time.monotonic)

    def now(self) -> Time:
        return self.begin + (time.monotonic() - self._started) * self.speed

    def real_seconds(self, seconds: float) -> float:
        """How many real seconds a duration of this clock takes."""
        return seconds / self.speed

    def wait(self, until: Time, stopped: Callable[[], bool]) -> None:
        """Sleep until a time, or until `stopped` returns true."""
        while not stopped() and (left := self.real_seconds(until - self.now())) > 0:
            time.sleep(min(left, MAX_SLEEP_SECONDS))


def simulated_clock(proxy: str) -> tuple[CrawlClock, Time]:
    """The clock of the living web behind a proxy, and the time at which its window ends."""
    try:
        with build_opener(ProxyHandler({"http": proxy})).open(TIME_URL, timeout=10) as response:
            state = json.load(response)
        if state["speed"] is None:
            raise ValueError("its clock stands still")  # noqa: TRY301
        return CrawlClock(state["now"], state["speed"]), state["end"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"--simulated needs the proxy of a running living web. Got {proxy!r}: {error}; "
            "start one with `recrawl web`."
        ) from error
