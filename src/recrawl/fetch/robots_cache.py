"""Which robots.txt files are known, and which are being requested?"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from recrawl.fetch import robots

if TYPE_CHECKING:
    from recrawl.fetch.result import FetchResult
    from recrawl.fetch.robots import RobotsRules

MAX_TRIES = 3
MAX_FILES = 20_000

_log = logging.getLogger(__name__)


class RobotsCache:
    """The rules of each origin, until they expire."""

    def __init__(self) -> None:
        self._known: dict[str, RobotsRules] = {}
        self._tries: dict[str, int] = {}  # origins whose file is being requested

    def get(self, origin: str, now: float) -> RobotsRules | None:
        """The rules that apply now; None: the file has to be requested."""
        rules = self._known.get(origin)
        return rules if rules is not None and now < rules.until else None

    def is_requested(self, origin: str) -> bool:
        """Whether the file is being requested."""
        return origin in self._tries

    def mark_requested(self, origin: str) -> None:
        self._tries[origin] = 0

    def interpret(self, origin: str, result: FetchResult, now: float) -> RobotsRules | None:
        """The rules in a response; None: request the file once more, when the host has rested."""
        rules = robots.interpret(result, now)
        if rules is None:
            self._tries[origin] = self._tries.get(origin, 0) + 1
            if self._tries[origin] < MAX_TRIES and result.is_host_problem:
                return None
            rules = robots.unreachable(now)
        return rules

    def keep(self, origin: str, rules: RobotsRules) -> RobotsRules:
        """Store the rules of an origin, with a delay of at most MAX_DELAY_SECONDS."""
        if rules.delay > robots.MAX_DELAY_SECONDS:
            _log.warning(
                "%s asks for %.0f s between requests; %.0f s are used.",
                origin,
                rules.delay,
                robots.MAX_DELAY_SECONDS,
            )
            rules = replace(rules, delay=robots.MAX_DELAY_SECONDS)
        self._tries.pop(origin, None)
        self._known.pop(origin, None)
        while len(self._known) >= MAX_FILES:
            del self._known[next(iter(self._known))]
        self._known[origin] = rules
        return rules

    def delays(self) -> dict[str, float]:
        """The Crawl-delay of each host that asks for one, in seconds."""
        asked = {o.partition("://")[2]: rules.delay for o, rules in self._known.items()}
        return {host: delay for host, delay in asked.items() if delay}

    def sitemaps(self, host: str) -> list[str]:
        """The sitemaps that the known files of a host name, https first."""
        files = [self._known.get(f"{scheme}://{host}") for scheme in ("https", "http")]
        return [url for rules in files if rules for url in rules.sitemaps]
