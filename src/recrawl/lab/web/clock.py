"""What time is it in the trace that a living web serves?"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from recrawl import units
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import Time


MAX_TIME = 253_402_300_799.0  #: the last second of the year 9999, the last one that dates can have


class TraceClock:
    """Simulated time: runs `speed` times as fast as real time; if None, it stands until set.

    It starts at the start of the window when it is first read. It continues after the end of the
    window, when the pages of most traces no longer change.
    """

    def __init__(
        self,
        window: tuple[Time, Time],
        speed: float | None,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        if speed is not None and not 0 < speed < math.inf:
            raise BadInput(f"speed must be a number above 0. Got {speed}; try 43200.")
        self.begin, self.end = window
        self.speed = speed
        self._ticks = ticks
        self._started: float | None = None
        self._set = _to_millis(self.begin)

    def now(self) -> Time:
        """Seconds since 1970, cut to milliseconds, so that headers can give the exact time."""
        if self.speed is None:
            return self._set
        if self._started is None:
            self._started = self._ticks()
        return _to_millis(self.begin + (self._ticks() - self._started) * self.speed)

    def set(self, at: Time) -> None:
        """Set a manual clock to a later time."""
        if self.speed is not None:
            raise BadInput(
                f"Only a manual clock can be set. This one runs {self.speed:g} times as fast as "
                "real time; serve the trace with a manual clock."
            )
        if not self._set <= at <= MAX_TIME:
            raise BadInput(
                f"A clock can only be set forward. It says {units.show_time(self._set)} "
                f"({self._set}). Got {at}."
            )
        self._set = _to_millis(at)


def _to_millis(at: Time) -> Time:
    """Without the fraction of a millisecond."""
    return math.floor(min(at, MAX_TIME) * 1e3) / 1e3
