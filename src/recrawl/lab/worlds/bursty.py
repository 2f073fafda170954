"""Pages that change in bursts: a change makes the next one likely soon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recrawl.errors import BadInput
from recrawl.lab.worlds.times import mixed_rates, weibull
from recrawl.lab.worlds.web import lay_out
from recrawl.lab.worlds.words import Numbered
from recrawl.lab.worlds.world import World, above_0, generator, world_of


@dataclass(kw_only=True)
class Bursty:
    """Independent pages with Weibull gaps of shape `burst` < 1; rates as in `poisson`."""

    name: ClassVar[str] = "bursty"

    burst: float = 0.5
    shape: float = 0.5
    mean: float = 0.1

    def make(self, *, pages: int = 2_000, days: int = 90, seed: int = 0) -> World:
        above_0(burst=self.burst, shape=self.shape, mean=self.mean)
        if not 0.2 <= self.burst <= 1.0:  # below, a burst is shorter than a second
            raise BadInput(f"burst must be from 0.2 to 1. Got {self.burst}; try 0.5.")
        random = generator(pages=pages, days=days, seed=seed)
        urls = lay_out(pages, random).urls
        # Less than one change in 3,000 years is none, and a rate of 0 has no gaps.
        rate = np.maximum(mixed_rates(pages, self.shape, self.mean, random), 1e-6)
        changed = weibull(rate, self.burst, days, random)
        return world_of(self, urls, changed, days=days, seed=seed, content=Numbered(), rate=rate)
