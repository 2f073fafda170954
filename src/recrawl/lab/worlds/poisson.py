"""Pages that change at random, each at its own rate: the web that most theory assumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from recrawl.lab.worlds.times import mixed_rates, poisson
from recrawl.lab.worlds.web import lay_out
from recrawl.lab.worlds.words import Numbered
from recrawl.lab.worlds.world import World, above_0, generator, world_of


@dataclass(kw_only=True)
class PoissonWorld:
    """Independent Poisson pages; rates are gamma distributed with `shape` and `mean` (a day)."""

    name: ClassVar[str] = "poisson"

    shape: float = 0.5
    mean: float = 0.1

    def make(self, *, pages: int = 2_000, days: int = 90, seed: int = 0) -> World:
        above_0(shape=self.shape, mean=self.mean)
        random = generator(pages=pages, days=days, seed=seed)
        urls = lay_out(pages, random).urls
        rate = mixed_rates(pages, self.shape, self.mean, random)
        changed = poisson(rate, days, random)
        return world_of(self, urls, changed, days=days, seed=seed, content=Numbered(), rate=rate)
