"""Pages that go back: A, B, A again, as with tests of two designs; some news in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.lab.worlds.times import mixed_rates, poisson
from recrawl.lab.worlds.web import lay_out
from recrawl.lab.worlds.words import Topical
from recrawl.lab.worlds.world import World, above_0, changes, generator, shares, world_of

if TYPE_CHECKING:
    from recrawl.model import BoolArray, IntArray


@dataclass(frozen=True)
class Editions(Topical):
    """Version v of page p is edition[first[p] + v]; an edition may come back."""

    first: IntArray
    edition: IntArray

    def texts(self, page: IntArray, version: IntArray) -> list[str]:
        return super().texts(page, self.edition[self.first[page] + version])

    def links(self, page: IntArray, version: IntArray) -> list[list[str]]:  # noqa: ARG002
        return [[] for _ in range(len(page))]


@dataclass(kw_only=True)
class Flapping:
    """A `share` of the pages flaps, four times as often as others change; `news`: share not flaps.

    The others change as in `poisson`.
    """

    name: ClassVar[str] = "flapping"

    share: float = 0.3
    news: float = 0.1
    shape: float = 0.5
    mean: float = 0.1

    def make(self, *, pages: int = 1_000, days: int = 90, seed: int = 0) -> World:
        above_0(shape=self.shape, mean=self.mean)
        shares(share=self.share, news=self.news)
        random = generator(pages=pages, days=days, seed=seed)
        web = lay_out(pages, random)
        flaps = random.random(pages) < self.share
        rate = mixed_rates(pages, self.shape, self.mean, random) * np.where(flaps, 4.0, 1.0)
        changed = poisson(rate, days, random)
        start, _ = changes(*changed, pages=pages, days=days)
        edition = _editions(start, flaps, self.news, random)
        content = Editions(seed, web.site, start[:-1] + np.arange(pages), edition)
        return world_of(
            self, web.urls, changed, days=days, seed=seed, content=content, rate=rate, flaps=flaps
        )


def _editions(
    start: IntArray, flaps: BoolArray, news: float, random: np.random.Generator
) -> IntArray:
    """The edition of each version, page after page: 2 × news so far, plus which of two designs."""
    versions = np.diff(start) + 1
    first = start[:-1] + np.arange(len(versions))
    page = np.repeat(np.arange(len(versions)), versions)
    fresh = ~flaps[page] | (random.random(len(page)) < news)
    flip = ~fresh
    fresh[first] = flip[first] = False
    told, turned = np.cumsum(fresh), np.cumsum(flip)
    told, turned = told - told[first][page], turned - turned[first][page]
    edition: IntArray = 2 * told + turned % 2
    return edition
