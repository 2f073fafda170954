"""Scores pages by biased coins, as the crawl of Radinsky & Bennett (2013) does (§8.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.errors import BadInput
from recrawl.papers.radinsky.live.forecasters import ContentForecaster, ExpertsForecaster
from recrawl.random import uniform

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History

ESTIMATES = ("frequency", "content", "experts")
MIN_P = 1e-9  #: probabilities stay this far from 0 and 1, so every page is taken in the end


class Coin:
    """Goes through the pages in random order, takes each with its probability of a change; repeats.

    The probability is the share of visits that showed a change (`by="frequency"`, 1D), or that of
    "content" (2D) or "experts" (3D), by default from one calibrated SVM per page.
    """

    name: ClassVar[str] = "coin"
    forecaster_: ContentForecaster | None = None

    def __init__(self, *, by: str = "frequency", learner: str = "svm", seed: int = 0) -> None:
        self.by = by
        self.learner = learner
        self.seed = seed

    def score(self, pages: Pages, now: Time) -> FloatArray:
        if self.forecaster_ is None or self.by == "frequency":
            p = (pages.n_changes + 0.5) / (pages.n_compared + 1.0)
        else:
            p = self.forecaster_.forecast(pages, now).p_change
        p = np.clip(p, MIN_P, 1 - MIN_P)
        # The round in which the coin first shows heads; the order within a round is random.
        draw = 1.0 - uniform(pages.key, self.seed, now)
        rounds: FloatArray = np.floor(np.log(draw) / np.log1p(-p))
        return -rounds - uniform(pages.key, self.seed + 1, now)

    def learn(self, history: History, pages: Pages, now: Time) -> None:  # noqa: ARG002
        if self.by not in ESTIMATES:
            raise BadInput(f"by must be one of {', '.join(ESTIMATES)}. Got {self.by!r}.")
        if self.by == "frequency":
            return
        if self.forecaster_ is None:
            forecaster = ContentForecaster if self.by == "content" else ExpertsForecaster
            self.forecaster_ = forecaster(learner=self.learner)
        self.forecaster_.fit(pages, now)
