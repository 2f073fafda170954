"""The URLs of a world: sites of very different sizes, with directories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.lab.worlds.words import word

if TYPE_CHECKING:
    from recrawl.model import IntArray

SECTIONS = ("about", "blog", "docs", "help", "news", "products")  # sorted
PAGES_PER_SITE = 60  # BRDC'12 has 58 (Santos 2013)


@dataclass(frozen=True)
class SiteLayout:
    """Pages sorted by URL, so that those of a site and of a directory are adjacent."""

    urls: list[str]
    hosts: list[str]
    site: IntArray  #: of each page
    directory: IntArray  #: of each page; numbers run over all sites

    def __len__(self) -> int:
        return len(self.urls)


def lay_out(pages: int, random: np.random.Generator) -> SiteLayout:
    """A layout of that many pages; few sites are large."""
    sites = max(1, round(pages / PAGES_PER_SITE))
    size = 1.0 / np.arange(1.0, sites + 1.0) ** 0.7
    names = random.permutation(max(sites, 5_000))[:sites].tolist()
    hosts = sorted(f"{word(number)}.example" for number in names)
    site = random.choice(sites, pages, p=random.permutation(size) / size.sum())
    section = random.integers(len(SECTIONS), size=pages)
    order = np.lexsort((section, site))
    site, section = site[order], section[order]
    slug = random.integers(5_000, size=pages).tolist()
    width = len(str(pages))
    urls = [
        f"https://{hosts[s]}/{SECTIONS[d]}/{i:0{width}}-{word(w)}"
        for i, (s, d, w) in enumerate(zip(site.tolist(), section.tolist(), slug, strict=True))
    ]
    return SiteLayout(
        urls, hosts, site, np.unique(site * len(SECTIONS) + section, return_inverse=True)[1]
    )
