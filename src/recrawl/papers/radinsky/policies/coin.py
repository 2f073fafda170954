"""Which pages now, if a coin is thrown for each? (Radinsky & Bennett 2013, section 8.3)"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from recrawl.errors import BadInput
from recrawl.papers.radinsky.live.forecasters import ContentForecaster, ExpertsForecaster
from recrawl.random import uniform

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History

KNOWN = ("frequency", "content", "experts")
NEVER = 1e-9  #: least and most of a chance, so that every page comes in time


class Coin:
    """Goes through the pages at random, takes each with its chance of a change, and begins anew.

    The chance is the share of visits that showed a change (`by="frequency"`, 1D), or what "content"
    (2D) or "experts" (3D) say, by a calibrated machine a page.
    """

    name: ClassVar[str] = "coin"
    forecaster_: Any = None

    def __init__(self, *, by: str = "frequency", learner: str = "svm", seed: int = 0) -> None:
        self.by = by
        self.learner = learner
        self.seed = seed

    def score(self, pages: Pages, now: Time) -> FloatArray:
        if self.forecaster_ is None or self.by == "frequency":
            p = (pages.n_changes + 0.5) / (pages.n_compared + 1.0)
        else:
            p = self.forecaster_.forecast(pages, now).p_change
        p = np.clip(p, NEVER, 1 - NEVER)
        # The round in which its coin first shows heads; within a round the order is random.
        thrown = 1.0 - uniform(pages.key, self.seed, now)
        rounds: FloatArray = np.floor(np.log(thrown) / np.log1p(-p))
        return -rounds - uniform(pages.key, self.seed + 1, now)

    def learn(self, history: History, pages: Pages, now: Time) -> None:  # noqa: ARG002
        if self.by not in KNOWN:
            raise BadInput(f"by must be one of {', '.join(KNOWN)}. Got {self.by!r}.")
        if self.by == "frequency":
            return
        if self.forecaster_ is None:
            kind = ContentForecaster if self.by == "content" else ExpertsForecaster
            self.forecaster_ = kind(learner=self.learner)
        self.forecaster_.fit(pages, now)
