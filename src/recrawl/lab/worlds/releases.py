"""Sites that change in bulk: on a release day whole directories change together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.lab.worlds.groups import members
from recrawl.lab.worlds.times import poisson
from recrawl.lab.worlds.web import SiteLayout, lay_out
from recrawl.lab.worlds.words import Numbered
from recrawl.lab.worlds.world import World, above_0, generator, shares, world_of

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray


@dataclass(kw_only=True)
class Releases:
    """A site has a release about every `every` days, each directory with probability `share`.

    Between releases a page changes on its own, at `background` a day.
    """

    name: ClassVar[str] = "releases"

    every: float = 21.0
    share: float = 0.5
    background: float = 0.005

    def make(self, *, pages: int = 2_000, days: int = 90, seed: int = 0) -> World:
        above_0(every=self.every, background=self.background)
        shares(share=self.share)
        random = generator(pages=pages, days=days, seed=seed)
        web = lay_out(pages, random)
        page, at = poisson(np.full(pages, self.background), days, random)
        directory, when = self._releases(web, days, random)
        row, released = members(_edges(web.directory), directory)
        # A release takes an hour to roll out.
        when = when[row] + random.uniform(0.0, 1 / 24, len(row))
        changed = np.concatenate([page, released]), np.concatenate([at, when])
        return world_of(
            self,
            web.urls,
            changed,
            days=days,
            seed=seed,
            content=Numbered(),
            directory=web.directory,
        )

    def _releases(
        self, web: SiteLayout, days: int, random: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """The directory and the time of each release."""
        site, at = poisson(np.full(len(web.hosts), 1.0 / self.every), days, random)
        # In office hours, so that no rollout crosses midnight.
        at = np.floor(at) + random.uniform(9.0, 17.0, len(at)) / 24
        home = web.site[_edges(web.directory)[:-1]]  # of each directory
        release, directory = members(np.searchsorted(home, np.arange(len(web.hosts) + 1)), site)
        taken = random.random(len(release)) < self.share
        return directory[taken], at[release[taken]]


def _edges(group: IntArray) -> IntArray:
    """Where each group begins, and the last ends, in pages sorted by group."""
    return np.searchsorted(group, np.arange(int(group[-1]) + 2))
