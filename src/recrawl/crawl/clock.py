"""What time is it, and when is it later? The time of day, or that of a simulated web."""

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

SLICE = 0.2  #: seconds within which a stop is noticed
ADMIN = "http://recrawl.admin/time"  #: where a living web tells its time


@dataclass(frozen=True)
class Clock:
    """Runs `speed` times as fast as the world, from `begin` on."""

    begin: Time
    speed: float = 1.0
    _started: float = field(default_factory=time.monotonic)

    def now(self) -> Time:
        return self.begin + (time.monotonic() - self._started) * self.speed

    def real(self, seconds: float) -> float:
        """How long a span of this clock takes in the world."""
        return seconds / self.speed

    def wait(self, until: Time, stopped: Callable[[], bool]) -> None:
        """Sleep until then, or until told to stop."""
        while not stopped() and (left := self.real(until - self.now())) > 0:
            time.sleep(min(left, SLICE))


def simulated(proxy: str) -> tuple[Clock, Time]:
    """The clock of the living web behind a proxy, and when its window ends."""
    try:
        with build_opener(ProxyHandler({"http": proxy})).open(ADMIN, timeout=10) as answer:
            told = json.load(answer)
        if told["speed"] is None:
            raise ValueError("its clock stands still")  # noqa: TRY301
        return Clock(told["now"], told["speed"]), told["end"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"--simulated needs the proxy of a running living web. Got {proxy!r}: {error}; "
            "start one with `recrawl web`."
        ) from error
