"""Pages that keep working hours: most changes fall on Monday to Friday."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recrawl.lab.worlds.times import mixed_rates, seasonal
from recrawl.lab.worlds.web import lay_out
from recrawl.lab.worlds.words import Numbered
from recrawl.lab.worlds.world import World, above_0, generator, shares, world_of

FIRST_DAY = 3  # a Thursday, counted from Monday


@dataclass(kw_only=True)
class Weekly:
    """Poisson pages whose rate at the `weekend` is that part of the rate on other days."""

    name: ClassVar[str] = "weekly"

    weekend: float = 0.1
    shape: float = 0.5
    mean: float = 0.1

    def make(self, *, pages: int = 2_000, days: int = 90, seed: int = 0) -> World:
        above_0(shape=self.shape, mean=self.mean)
        shares(weekend=self.weekend)
        random = generator(pages=pages, days=days, seed=seed)
        urls = lay_out(pages, random).urls
        rate = mixed_rates(pages, self.shape, self.mean, random)
        week = np.repeat([1.0, self.weekend], [5, 2])
        week /= week.mean()  # `mean` stays the mean over a week
        weight = week[(FIRST_DAY + np.arange(days)) % 7][None]
        changed = seasonal(rate, weight, np.zeros(pages, np.int64), random)
        return world_of(self, urls, changed, days=days, seed=seed, content=Numbered(), rate=rate)
