"""What time is it, and when is it later? Real time, or the time of a simulated web."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.request import ProxyHandler, build_opener

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import Time

MAX_SLEEP_SECONDS = 0.2  #: a request to stop is noticed within this time
TIME_URL = "http://recrawl.admin/time"  #: where a living web reports its time


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
