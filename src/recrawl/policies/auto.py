"""Which pages now, by all that the crawl has shown? The default."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl import registry
from recrawl.errors import BadInput
from recrawl.forecast.online.online import Online
from recrawl.forecast.online.reasons import reasons
from recrawl.model import Forecast
from recrawl.policies.objectives import INDICES

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History

BALANCED = "balanced"  #: the default: many changes found, and copies no less fresh for it
LINKS = "new-links"
OBJECTIVES = (BALANCED, *INDICES, LINKS)
#: Objectives for which another policy is better.
PURSUED = {
    LINKS: "links",
    "never-seen-links": "links:never_seen=true",
    "search": "user-centric",
}
#: How much more is expected of a page the less often it was seen to change. That leaves a little of
#: the change ratio to pages of which little is known, and gains freshness by it.
OPTIMISM = 4.0
#: Changes due beyond which it is not known how fast a page really changes: visits show one of many.
#: An index that leaves fast pages alone would leave such pages for ever.
TELLING = 2.0


class Auto:
    """What a visit would find, learned online: from rates, days of groups, neighbours and copies.

    `objective` is one of OBJECTIVES, or several with weights: `freshness=0.5+new-links=0.5`.
    """

    name: ClassVar[str] = "auto"

    def __init__(self, *, objective: str = BALANCED, seed: int = 0) -> None:
        self.objective = objective
        self.seed = seed

    def learn(self, history: History, now: Time) -> None:
        wanted = weights(self.objective)
        if not hasattr(self, "online_"):
            self.online_ = {event: Online(event, self.seed) for event in _events(wanted)}
        for one in self.online_.values():
            one.learn(history, now)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        wanted = weights(self.objective)
        found = np.zeros(len(pages))
        for name, weight in wanted.items():
            worth = self._worth(name, pages, now)
            if len(wanted) > 1:  # objectives count in units of their own
                worth = worth / max(float(worth.mean()), 1e-300) if len(pages) else worth
            found += weight * worth
        return found

    def forecast(self, pages: Pages, now: Time) -> Forecast:
        """The probability of a change."""
        return Forecast(p_change=-np.expm1(-self._online("change").hits(pages, now)))

    def reasons(self, pages: Pages, row: int) -> list[str]:
        """The three strongest, in words."""
        found: dict[str, Online] = getattr(self, "online_", {})
        return reasons(next(iter(found.values())), pages, row) if found else []

    def _worth(self, name: str, pages: Pages, now: Time) -> FloatArray:
        online = self._online("links" if name == LINKS else "change")
        hits, days = online.hits(pages, now), pages.days_since_visit(now)
        if name == LINKS:
            return -np.expm1(-hits) * online.size(pages)
        if name != BALANCED:
            known = hits if name == "change-ratio" else np.minimum(hits, TELLING)
            return INDICES[name](known / np.maximum(days, 1e-9), days)
        return hits * (1.0 + OPTIMISM / np.sqrt(online.seen(pages) + 0.5))

    def _online(self, event: str) -> Online:
        """What is known of an event; nothing before it learned, or if no objective asks."""
        found: dict[str, Online] = getattr(self, "online_", {})
        return found.get(event) or Online(event, self.seed)


def weights(objective: str) -> dict[str, float]:
    """The weight of each objective, as people write it.

    >>> weights("freshness"), weights("freshness=0.5+new-links=0.5")
    ({'freshness': 1.0}, {'freshness': 0.5, 'new-links': 0.5})
    """
    found = {}
    for one in objective.replace(",", "+").split("+"):
        name, equals, weight = (part.strip() for part in one.partition("="))
        if name not in OBJECTIVES:
            raise registry.unknown("objective", name, dict.fromkeys([*OBJECTIVES, *PURSUED]))
        try:
            found[name] = float(weight) if equals else 1.0
        except ValueError:
            found[name] = -1.0
        if not 0.0 <= found[name] < np.inf:
            raise BadInput(
                f"The weight of an objective must be a number, 0 or more. Got {one.strip()!r}; "
                "write freshness=0.5,new-links=0.5."
            )
    if not sum(found.values()) > 0:
        raise BadInput(f"One weight of an objective must be above 0. Got {objective!r}.")
    return found


def _events(wanted: dict[str, float]) -> list[str]:
    links = [name == LINKS for name in wanted]
    return ["change"] * (not all(links)) + ["links"] * any(links)
