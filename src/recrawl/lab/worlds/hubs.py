"""Pages of links that grow: hubs of one topic grow in the same busy weeks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.lab.worlds.times import mixed_rates, seasonal
from recrawl.lab.worlds.web import lay_out
from recrawl.lab.worlds.words import Topical, word
from recrawl.lab.worlds.world import World, above_0, changes, counts, generator, shares, world_of
from recrawl.random import mix, random_bits

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, KeyArray


@dataclass(frozen=True)
class Lists(Topical):
    """Version v of page p lists the first size[first[p] + v] targets of the page."""

    urls: list[str]
    first: IntArray
    size: IntArray
    external: float  #: share of links that leave the site

    def links(self, page: IntArray, version: IntArray) -> list[list[str]]:
        sizes = self.size[self.first[page] + version].tolist()
        # Versions of a page share all but their newest targets.
        longest = dict(sorted(zip(page.tolist(), sizes, strict=True)))
        targets = {p: self._targets(p, size) for p, size in longest.items()}
        return [targets[p][:size] for p, size in zip(page.tolist(), sizes, strict=True)]

    def _targets(self, page: int, size: int) -> list[str]:
        key = random_bits(np.array([page], np.uint64), self.seed, 1.0)
        place: KeyArray = np.arange(size, dtype=np.uint64)
        draw = mix(key + place)
        leaves = (draw % np.uint64(1_000) < self.external * 1_000).tolist()
        home = self.urls[page].split("/", 3)[2]
        hosts = [f"{word(number)}.example" for number in (draw >> np.uint64(54)).tolist()]
        return [
            f"https://{'www.' + host if out else home}/{word(int(self.topic[page]))}/{page}-{k}"
            for k, (host, out) in enumerate(zip(hosts, leaves, strict=True))
        ]


@dataclass(kw_only=True)
class Hubs:
    """Hubs that gain about 1 + `links` links at a change, more in the busy weeks of their topic.

    `mean` is the changes a day of a hub, `external` the share of links that leave the site.
    """

    name: ClassVar[str] = "hubs"

    hubs_per_topic: int = 20
    links: float = 1.0
    external: float = 0.7
    mean: float = 0.2

    def make(self, *, pages: int = 400, days: int = 90, seed: int = 0) -> World:
        counts(hubs_per_topic=self.hubs_per_topic)
        above_0(mean=self.mean, links=self.links)
        shares(external=self.external)
        random = generator(pages=pages, days=days, seed=seed)
        urls = lay_out(pages, random).urls
        topic = random.permutation(pages) // self.hubs_per_topic
        busy = mixed_rates(int(topic.max()) + 1, 1.0, self.mean, random)
        rate = busy[topic] * random.lognormal(-0.125, 0.5, pages)
        changed = seasonal(rate, _weeks(len(busy), days, random), topic, random)
        start, _ = changes(*changed, pages=pages, days=days)
        size = self._sizes(start, random)
        content = Lists(seed, topic, urls, start[:-1] + np.arange(pages), size, self.external)
        return world_of(
            self, urls, changed, days=days, seed=seed, content=content, rate=rate, topic=topic
        )

    def _sizes(self, start: IntArray, random: np.random.Generator) -> IntArray:
        """The number of links of each version, page after page; every change adds some."""
        added = 1 + random.poisson(self.links, start[-1] + len(start) - 1)
        first = start[:-1] + np.arange(len(start) - 1)
        added[first] += random.geometric(0.1, len(first))
        total = np.cumsum(added)
        size: IntArray = total - np.repeat(total[first] - added[first], np.diff(start) + 1)
        return size


def _weeks(topics: int, days: int, random: np.random.Generator) -> FloatArray:
    """The activity of each topic on each day, constant over a week, with mean about 1."""
    return np.repeat(random.gamma(0.7, 1 / 0.7, (topics, days // 7 + 1)), 7, axis=1)[:, :days]
