"""How many pages may this cycle fetch, so that no day exceeds its budget?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from recrawl import units
from recrawl.errors import BadInput
from recrawl.model import DAY, Budget
from recrawl.planner.plan import fetches as n_fetches

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.history import Store
    from recrawl.model import Time


MAX_CYCLE_SECONDS = 1000 * DAY


@dataclass(frozen=True)
class Pace:
    """A budget per cycle; or a number of fetches per period (of UTC), spread over its cycles."""

    cycle: Budget | None = None
    fetches: int = 0
    period: float = DAY

    @classmethod
    def parse(cls, text: str) -> Pace:
        """From "500/day" or "20/h" (per period), "200" or "2%" (per cycle).

        >>> Pace.parse("500/day")
        Pace(cycle=None, fetches=500, period=86400.0)
        """
        try:
            if "/" not in text:
                return cls(cycle=units.budget(text))
            fetches, period = units.pace(text)
        except BadInput as error:
            raise BadInput(
                "A crawl's budget must be fetches in a period, or fetches or a share of the pages "
                f"a cycle. Got {text[:60]!r}; try 500/day, 20/h, 200 or 2%."
            ) from error
        return cls(fetches=fetches, period=period)

    def check(self, every: float) -> None:
        """Raise `BadInput` for a cycle length, in seconds, with which the pace cannot be kept."""
        if not 1 <= every <= MAX_CYCLE_SECONDS:
            raise BadInput(
                f"every, the length of a cycle, must be from 1s to 1000d. Got {every:g} s; try 1h."
            )
        if self.cycle is None and every > self.period:
            raise BadInput(
                "A cycle must not be longer than the period of the budget, or a period would get "
                f"all fetches of a cycle. Got cycles of {every:g} s for {self.fetches} fetches in "
                f"{self.period:g} s; give a shorter --every, or a budget for a longer period."
            )

    def allowed(self, store: Store, *, now: Time, until: Time) -> int:
        """The number of fetches for a cycle that ends at `until`.

        All fetches in the store count, so a crawl that is killed and started again gets no second
        budget.
        """
        if self.cycle is not None:
            return n_fetches(self.cycle, store.summary().pages)
        start = store.query("SELECT epoch(min(first_seen)) AS start FROM pages")["start"][0].as_py()
        start = now if start is None else start
        return self.left(partial(_spent, store), start=start, now=now, until=until)

    def left(self, spent: Callable[[Time], int], *, start: Time, now: Time, until: Time) -> int:
        """What a budget per period leaves for a cycle; `spent` counts the fetches since a time.

        Fetches become available in proportion to time, in the first period from the `start` of the
        store.
        """
        period_start = math.floor(now / self.period) * self.period
        earning_start = max(period_start, min(start, now))
        earned = math.floor(self.fetches * (until - earning_start) / self.period + 1e-9)
        return max(min(earned - spent(earning_start), self.fetches - spent(period_start)), 0)


def _spent(store: Store, since: Time) -> int:
    return int(store.query(_SPENT, int(since * 1e6))["n"][0].as_py())


_SPENT = """
SELECT count(*) AS n FROM visits WHERE "at" >= make_timestamp(?) AND skipped IS NOT TRUE
"""
