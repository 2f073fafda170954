"""Pages that switch back and forth between two contents, as in A/B tests, with some real news."""

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
    """A `share` of the pages flaps, four times as often as the others change.

    The share `news` of their changes is new content. The other pages change as in `poisson`.
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
    """The edition of each version, page after page: 2 × news so far + which of the two designs."""
    versions = np.diff(start) + 1
    first = start[:-1] + np.arange(len(versions))
    page = np.repeat(np.arange(len(versions)), versions)
    fresh = ~flaps[page] | (random.random(len(page)) < news)
    flip = ~fresh
    fresh[first] = flip[first] = False
    n_news, n_flips = np.cumsum(fresh), np.cumsum(flip)
    n_news, n_flips = n_news - n_news[first][page], n_flips - n_flips[first][page]
    edition: IntArray = 2 * n_news + n_flips % 2
    return edition
