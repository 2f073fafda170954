"""Which pages does a crawl want? Not all that it finds links to."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl import urls
from recrawl.errors import BadInput
from recrawl.planner.rules import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

REACHES = ("host", "site", "any")
LONGEST_URL = 2000
DEEPEST_PATH = 16
MOST_REPEATS = 3  #: of one part of a path, as in /a/b/a/b/a/b/a/b


@dataclass(frozen=True)
class Scope:
    """How far a crawl goes from its seeds.

    `reach` is the seeds' hosts, their sites, or any; `only` and `skip` are URLs in which * stands
    for anything; `depth` is how many links away from a seed; `pages_per_host` bounds calendars.
    """

    reach: str = "host"
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    depth: int | None = None
    pages_per_host: int = 100_000

    def __post_init__(self) -> None:
        if self.reach not in REACHES:
            raise BadInput(f"reach must be one of {', '.join(REACHES)}. Got {self.reach!r}.")

    def admitted(
        self, found: Iterable[str], homes: Iterable[str], known: Mapping[str, int]
    ) -> list[str]:
        """Those of the URLs that are wanted: near the hosts `homes`, of which so many are known."""
        is_near = self.near(homes)
        only, skip = _matcher(self.only or ("*",)), _matcher(self.skip)
        taken: Counter[str] = Counter()
        admitted = []
        for url in found:
            host = urls.host(url)
            if is_near(host) and only(url) and not skip(url) and not _endless(url):
                taken[host] += 1
                if known.get(host, 0) + taken[host] <= self.pages_per_host:
                    admitted.append(url)
        return admitted

    def near(self, homes: Iterable[str]) -> Callable[[str], bool]:
        """Tells whether a host is one that the scope reaches from the hosts `homes`."""
        places = {self._place(home) for home in homes}
        return lambda host: self._place(host) in places

    def _place(self, host: str) -> str:
        """What a host must share with a seed."""
        return {"host": host, "site": urls.site(host), "any": ""}[self.reach]


def _matcher(patterns: Sequence[str]) -> Callable[[str], object]:
    """Tells whether a URL matches any of the patterns; of none, none does."""
    return re.compile("|".join(f"(?:{pattern(p)})" for p in patterns) or r"(?!)").match


def _endless(url: str) -> bool:
    """Whether it looks like one of the URLs that a site makes up as one goes."""
    if len(url) > LONGEST_URL:
        return True
    parts = [part for part in url.partition("://")[2].partition("?")[0].split("/")[1:] if part]
    repeats = max(Counter(parts).values(), default=0)
    return len(parts) > DEEPEST_PATH or repeats > MOST_REPEATS
