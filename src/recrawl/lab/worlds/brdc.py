"""Pages like those of BRDC'12, the set that GP4C was evolved on (Santos 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.lab.bits import page_urls
from recrawl.lab.worlds.world import World, generator, shares, world_of

if TYPE_CHECKING:
    from recrawl.model import FloatArray

BLOCK = 50_000  # pages drawn at once


@dataclass(kw_only=True)
class Brdc:
    """Bits, one for each page and day: `still` pages never change, `busy` ones with p in 0.7–1.

    The daily probability of the others is Beta(0.5, 4): a quarter of them do not change in 57 days
    either, so 80 % of all pages show no change. Days and pages are independent.
    """

    name: ClassVar[str] = "brdc"

    still: float = 0.75
    busy: float = 0.05

    def make(self, *, pages: int = 417_048, days: int = 57, seed: int = 0) -> World:
        shares(still=self.still, busy=self.busy)
        shares(still_and_busy=self.still + self.busy)
        random = generator(pages=pages, days=days, seed=seed)
        chance = self._chances(pages, random)
        rows, ones = [], []
        for low in range(0, pages, BLOCK):
            some = chance[low : low + BLOCK, None]
            page, day = np.nonzero(random.random((len(some), days), np.float32) < some)
            rows.append(page + low)
            ones.append(day + 1.0)
        changed = np.concatenate(rows), np.concatenate(ones)
        return world_of(self, page_urls(pages), changed, days=days, seed=seed, chance=chance)

    def _chances(self, pages: int, random: np.random.Generator) -> FloatArray:
        kind = random.random(pages)
        chance = random.beta(0.5, 4.0, pages)
        chance = np.where(kind < self.still + self.busy, random.uniform(0.7, 1.0, pages), chance)
        return np.where(kind < self.still, 0.0, chance)
