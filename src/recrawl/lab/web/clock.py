"""What time is it in the trace?"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from recrawl import units
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import Time


LATEST = 253_402_300_799.0  #: the last second of the year 9999, which dates cannot be after


class Clock:
    """Simulated time: goes `speed` times as fast as ours, or only when set if that is None.

    It begins with the window when it is first asked, and goes on after the window's end, when no
    page of most traces changes any more.
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
        self._set = _whole(self.begin)

    def now(self) -> Time:
        """Seconds since 1970, to the millisecond: what headers say is exactly when it was."""
        if self.speed is None:
            return self._set
        if self._started is None:
            self._started = self._ticks()
        return _whole(self.begin + (self._ticks() - self._started) * self.speed)

    def set(self, at: Time) -> None:
        """Put a manual clock forward."""
        if self.speed is not None:
            raise BadInput(
                f"Only a manual clock can be set. This one runs, {self.speed:g} times as fast as "
                "time; serve the trace with a manual clock."
            )
        if not self._set <= at <= LATEST:
            raise BadInput(
                f"A clock is put forward only. It says {units.show_time(self._set)} "
                f"({self._set}). Got {at}."
            )
        self._set = _whole(at)


def _whole(at: Time) -> Time:
    """Without the part of a millisecond."""
    return math.floor(min(at, LATEST) * 1e3) / 1e3
