"""Which of the pages that a crawl finds links to does it visit?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from recrawl import urls
from recrawl.errors import BadInput
from recrawl.planner.rules import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

REACHES = ("host", "site", "any")
MAX_PATH_DEPTH = 16
MAX_REPEATS = 3  #: of one part of a path, as in /a/b/a/b/a/b/a/b


@dataclass(frozen=True)
class Scope:
    """How far a crawl goes from its seeds.

    `reach`: the hosts of the seeds, their sites, or any host. `only`, `skip`: URL patterns with *
    for anything. `depth`: most links from a seed. `pages_per_host` limits endless calendars.
    """

    reach: str = "host"
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    depth: int | None = None
    pages_per_host: int = 100_000

    def __post_init__(self) -> None:
        if self.reach not in REACHES:
            raise BadInput(f"reach must be one of {', '.join(REACHES)}. Got {self.reach!r}.")

    def select(
        self, found: Iterable[str], home_hosts: Iterable[str], known_pages: Mapping[str, int]
    ) -> list[str]:
        """The URLs that are in scope; `known_pages` counts the pages of each host so far."""
        in_reach = self.host_test(home_hosts)
        found = list(found)
        names = pa.array(found, pa.string())
        wanted = matches(self.only or ("*",), names) & ~matches(self.skip, names)
        new_pages: Counter[str] = Counter()
        selected = []
        for url, is_wanted in zip(found, wanted, strict=True):
            host = urls.host(url)
            if is_wanted and in_reach(host) and not _looks_endless(url):
                new_pages[host] += 1
                if known_pages.get(host, 0) + new_pages[host] <= self.pages_per_host:
                    selected.append(url)
        return selected

    def host_test(self, home_hosts: Iterable[str]) -> Callable[[str], bool]:
        """A function that says whether a host is within `reach` of the home hosts."""
        groups = {self._group(home) for home in home_hosts}
        return lambda host: self._group(host) in groups

    def _group(self, host: str) -> str:
        """What a host must have in common with a home host."""
        return {"host": host, "site": urls.site(host), "any": ""}[self.reach]


def _looks_endless(url: str) -> bool:
    """Whether a URL looks like one that a site generates without end."""
    if len(url) > urls.MAX_URL_LENGTH:
        return True
    parts = [part for part in url.partition("://")[2].partition("?")[0].split("/")[1:] if part]
    repeats = max(Counter(parts).values(), default=0)
    return len(parts) > MAX_PATH_DEPTH or repeats > MAX_REPEATS
