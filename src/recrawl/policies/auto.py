"""Which pages now, given everything the crawl has shown? The default policy."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl import registry
from recrawl.auto.model import HitModel
from recrawl.auto.reasons import reasons
from recrawl.errors import BadInput
from recrawl.model import Forecast
from recrawl.policies.indices import INDICES
from recrawl.policies.links import Links
from recrawl.rates.forecast import from_rate
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.model import FloatArray, Pages, Time
    from recrawl.policies.user_centric import UserCentric
    from recrawl.protocols import History

BALANCED = "balanced"  #: the default: many changes found, with copies as fresh
NEW, NEVER_SEEN, SEARCH = "new-links", "never-seen-links", "search"
#: The policy that `auto` uses for an objective.
POLICY_OF_OBJECTIVE = {NEW: "links", NEVER_SEEN: "links:never_seen=true", SEARCH: "user-centric"}
OBJECTIVES = (BALANCED, *INDICES, *POLICY_OF_OBJECTIVE)
#: Changes due are cut here for indices that skip fast pages. A visit shows at most one change, so
#: beyond this the true rate is unknown, and such an index would skip the page for ever.
MAX_HITS_DUE = 2.0
LINEAR = ("change-ratio", "ephemeral")  #: indices that never skip a fast page


class Auto:
    """What a visit would find, learned from page histories, group days, neighbours and copies.

    `objective` is one of OBJECTIVES, or several with weights: `freshness=0.5+new-links=0.5`. The
    objective `search` needs `queries`, a file of what people ask.
    """

    name: ClassVar[str] = "auto"

    def __init__(self, *, objective: str = BALANCED, queries: str = "", seed: int = 0) -> None:
        self.objective = objective
        self.queries = queries
        self.seed = seed

    @cached_property
    def scorers_(self) -> dict[str, HitModel | Links | UserCentric]:
        """The model or policy for each objective; objectives about changes share one model."""
        wanted = [name for name, weight in weights(self.objective).items() if weight]
        if SEARCH in wanted and not self.queries:
            raise BadInput(
                "The objective search needs queries, a file of what people ask. Got none; write "
                "auto:objective=search,queries=FILE."
            )
        changes = HitModel("change", self.seed)
        return {name: self._other_scorer(name) or changes for name in wanted}

    def _other_scorer(self, name: str) -> Links | UserCentric | None:
        """The policy for an objective that is not about changes; None for one that is."""
        if name in (NEW, NEVER_SEEN):
            return Links(never_seen=name == NEVER_SEEN, seed=self.seed)
        if name == SEARCH:
            from recrawl.policies.user_centric import UserCentric  # slow to import

            return UserCentric(queries=self.queries)
        return None

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        for part in dict.fromkeys(self.scorers_.values()):
            part.learn(history, pages, now)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        wanted = weights(self.objective)
        score = np.zeros(len(pages))
        for name in self.scorers_:
            worth = self._worth(name, pages, now)
            if len(self.scorers_) > 1:  # objectives have different units
                worth = worth / max(float(worth.mean()), 1e-300) if len(pages) else worth
            score += wanted[name] * worth
        return score

    def forecast(self, pages: Pages, now: Time) -> Forecast:
        """The probability of a change."""
        changes = next(self._models("change"), None)
        if changes is None:
            return from_rate(smoothed(pages), pages.days_since_visit(now))
        return Forecast(p_change=changes.p_hit(pages, now))

    def reasons(self, pages: Pages, row: int) -> list[str]:
        """The strongest reasons for or against a visit, in words; at most three."""
        return next((reasons(model, pages, row) for model in self._models()), [])

    def _models(self, event: str | None = None) -> Iterator[HitModel]:
        for part in self.scorers_.values():
            model = part if isinstance(part, HitModel) else getattr(part, "model_", None)
            if model and event in (None, model.state.event):
                yield model

    def _worth(self, name: str, pages: Pages, now: Time) -> FloatArray:
        part = self.scorers_[name]
        if not isinstance(part, HitModel):
            return part.score(pages, now)
        hits = part.hits_due(pages, now)
        if name == BALANCED:  # rate^a × days
            a = part.exponent()
            days = np.maximum(pages.days_since_visit(now), 1e-9)
            return np.maximum(hits, 1e-12) ** a * days ** (1.0 - a)
        return self._index(name, hits, pages, now)

    def _index(self, name: str, hits: FloatArray, pages: Pages, now: Time) -> FloatArray:
        bounded = hits if name in LINEAR else np.minimum(hits, MAX_HITS_DUE)
        days = np.maximum(pages.days_since_visit(now), 1e-9)
        return INDICES[name](np.maximum(bounded, 1e-12) / days, days)


def weights(objective: str) -> dict[str, float]:
    """The weight of each objective in the argument `objective`.

    >>> weights("freshness"), weights("freshness=0.5+new-links=0.5")
    ({'freshness': 1.0}, {'freshness': 0.5, 'new-links': 0.5})
    """
    weight_of: dict[str, float] = {}
    for one in objective.replace(",", "+").split("+"):
        name, equals, weight = (part.strip() for part in one.partition("="))
        if name not in OBJECTIVES:
            raise registry.unknown("objective", name, dict.fromkeys(OBJECTIVES))
        if name in weight_of:
            raise BadInput(f"An objective must be given once. Got {name} twice in {objective!r}.")
        try:
            weight_of[name] = float(weight) if equals else 1.0
        except ValueError:
            weight_of[name] = -1.0
        if not 0.0 <= weight_of[name] < np.inf:
            raise BadInput(
                f"The weight of an objective must be a number, 0 or more. Got {one.strip()!r}; "
                "write freshness=0.5,new-links=0.5."
            )
    if not sum(weight_of.values()) > 0:
        raise BadInput(f"One weight of an objective must be above 0. Got {objective!r}.")
    return weight_of
