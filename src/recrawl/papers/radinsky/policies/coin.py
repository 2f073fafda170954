"""Scores pages by biased coins, as the crawl of Radinsky & Bennett (2013) does (§8.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.errors import BadInput
from recrawl.papers.radinsky.live.forecasters import ExpertsForecaster
from recrawl.papers.radinsky.live.vote import ExpertVote, change_share
from recrawl.random import uniform

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History

ESTIMATES = ("frequency", "content", "experts", "mean-experts")
MIN_P = 1e-9  #: probabilities stay this far from 0 and 1, so every page is taken in the end


class Coin:
    """Goes through the pages in random order, takes each with its probability of a change; repeats.

    The probability is the share of visits that showed a change (`by="frequency"`, 1D), that of a
    calibrated SVM per page ("content", 2D), or the vote of one per page and expert ("experts", 3D).
    "mean-experts" is not in the paper: one SVM per page, over weighted means of its experts.
    """

    name: ClassVar[str] = "coin"
    forecaster_: ExpertVote | ExpertsForecaster | None = None

    def __init__(self, *, by: str = "frequency", seed: int = 0) -> None:
        self.by = by
        self.seed = seed

    def score(self, pages: Pages, now: Time) -> FloatArray:
        if self.forecaster_ is None or self.by == "frequency":
            p = change_share(pages)
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
            if self.by == "mean-experts":
                self.forecaster_ = ExpertsForecaster(learner="svm")
            else:
                self.forecaster_ = ExpertVote(k=0) if self.by == "content" else ExpertVote()
        self.forecaster_.fit(pages, now)
