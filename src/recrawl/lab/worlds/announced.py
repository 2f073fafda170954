"""Pages whose changes a sitemap announces, most of them, and some that are none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from recrawl.lab.worlds.poisson import PoissonWorld
from recrawl.lab.worlds.times import poisson
from recrawl.lab.worlds.world import Announcements, World, above_0, changes, command, shares


@dataclass(kw_only=True)
class Announced:
    """The pages of the world `poisson`, and a sitemap.

    It announces a share `recall` of the changes when they happen, and `noise` changes a day of
    each page that do not happen. The changes are those of `poisson` with the same arguments.
    """

    name: ClassVar[str] = "announced"

    shape: float = 0.5
    mean: float = 0.1
    recall: float = 0.8
    noise: float = 0.02

    def make(self, *, pages: int = 2_000, days: int = 90, seed: int = 0) -> World:
        shares(recall=self.recall)
        if self.noise:
            above_0(noise=self.noise)
        world = PoissonWorld(shape=self.shape, mean=self.mean).make(
            pages=pages, days=days, seed=seed
        )
        random = np.random.default_rng([seed, 1])
        told = random.random(len(world.at)) < self.recall
        false_page, false_day = poisson(np.full(pages, self.noise), days, random)
        start, false_at = changes(false_page, false_day, pages=pages, days=days)
        every = np.arange(pages)
        first = np.full(pages, world.window[0])  # a sitemap names every page from the beginning
        return replace(
            world,
            name=self.name,
            made=command(self, pages=pages, days=days, seed=seed),
            announced=Announcements(
                np.concatenate([every, world.page[told], np.repeat(every, np.diff(start))]),
                np.concatenate([first, world.at[told], false_at]),
            ),
        )
