"""How much may this cycle fetch, so that no day takes more than its budget?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from recrawl import units
from recrawl.errors import BadInput
from recrawl.model import DAY, Budget
from recrawl.planner.plan import fetches as whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.history import Store
    from recrawl.model import Time


LONGEST = 1000 * DAY  #: cycle


@dataclass(frozen=True)
class Pace:
    """A budget for each cycle; or so many fetches in each period (of UTC), spread over cycles."""

    cycle: Budget | None = None
    fetches: int = 0
    period: float = DAY

    @classmethod
    def parse(cls, text: str) -> Pace:
        """From "500/day", "20/h"; or "200", "2%" a cycle.

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
        """Refuse cycles that it cannot be kept with."""
        if not 1 <= every <= LONGEST:
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
        """The fetches of a cycle that ends at `until`.

        Fetches in the store count, whoever made them: a crawl that is killed and started again has
        no second budget.
        """
        if self.cycle is not None:
            return whole(self.cycle, store.summary().pages)
        begun = store.query("SELECT epoch(min(first_seen)) AS begun FROM pages")["begun"][0].as_py()
        begun = now if begun is None else begun
        return self.left(partial(_spent, store), begun=begun, now=now, until=until)

    def left(self, spent: Callable[[Time], int], *, begun: Time, now: Time, until: Time) -> int:
        """What a budget for periods leaves to a cycle; `spent` are the fetches since a time.

        A period earns its fetches bit by bit, in the first one from when the store was `begun`.
        """
        opened = math.floor(now / self.period) * self.period
        shared = max(opened, min(begun, now))
        earned = math.floor(self.fetches * (until - shared) / self.period + 1e-9)
        return max(min(earned - spent(shared), self.fetches - spent(opened)), 0)


def _spent(store: Store, since: Time) -> int:
    return int(store.query(_SPENT, int(since * 1e6))["n"][0].as_py())


# A page that was not asked for (robots.txt forbids it) is a failed visit that took no time.
_SPENT = """
SELECT count(*) FILTER (seconds IS NOT NULL) AS n FROM visits WHERE "at" >= make_timestamp(?)
"""
