"""Which robots.txt files are known, and which are being requested?"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from recrawl.fetch import robots

if TYPE_CHECKING:
    from recrawl.fetch.result import FetchResult
    from recrawl.fetch.robots import RobotsRules

MAX_TRIES = 3
MAX_FILES = 20_000
MAX_CHARACTERS = 32_000_000  #: of all files
MAX_PARSED_CHARACTERS = 8_000_000  #: of the files that are parsed; the others are parsed again

_log = logging.getLogger(__name__)


class RobotsCache:
    """The rules of each origin, until they expire."""

    def __init__(self) -> None:
        self._known: dict[str, RobotsRules] = {}  # the oldest first
        self._characters = 0
        self._parsed: dict[
            str, int
        ] = {}  # characters of the parsed files, the last used at the end
        self._parsed_characters = 0
        self._tries: dict[str, int] = {}  # origins whose file is being requested
        self.changed: set[str] = set()  #: origins whose rules are new since this was cleared

    def get(self, origin: str, now: float) -> RobotsRules | None:
        """The rules that apply now; None: the file has to be requested."""
        rules = self._known.get(origin)
        if rules is None or now >= rules.until:
            return None
        if rules.text:
            self._note_parsed(origin, rules)
        return rules

    def known(self, now: float) -> dict[str, RobotsRules]:
        """The rules of all origins that apply now."""
        return {origin: rules for origin, rules in self._known.items() if now < rules.until}

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
            rules.delay = robots.MAX_DELAY_SECONDS
        self._tries.pop(origin, None)
        self._forget(origin)
        self._known[origin] = rules
        self._characters += len(rules.text)
        self.changed.add(origin)
        if rules.parsed is not None:
            self._note_parsed(origin, rules)
        while len(self._known) > MAX_FILES or self._characters > MAX_CHARACTERS:
            self._forget(next(iter(self._known)))
        return rules

    def delays(self) -> dict[str, float]:
        """The Crawl-delay of each host that asks for one, in seconds."""
        asked = {o.partition("://")[2]: rules.delay for o, rules in self._known.items()}
        return {host: delay for host, delay in asked.items() if delay}

    def sitemaps(self, host: str) -> list[str]:
        """The sitemaps that the known files of a host name, https first."""
        files = [self._known.get(f"{scheme}://{host}") for scheme in ("https", "http")]
        return [url for rules in files if rules for url in rules.sitemaps]

    def _forget(self, origin: str) -> None:
        if rules := self._known.pop(origin, None):
            self._characters -= len(rules.text)
        self._parsed_characters -= self._parsed.pop(origin, 0)

    def _note_parsed(self, origin: str, rules: RobotsRules) -> None:
        """Put a file last among those parsed, and drop what was parsed of the first ones."""
        self._parsed_characters += len(rules.text) - self._parsed.pop(origin, 0)
        self._parsed[origin] = len(rules.text)
        while self._parsed_characters > MAX_PARSED_CHARACTERS:
            first = next(iter(self._parsed))
            self._parsed_characters -= self._parsed.pop(first)
            self._known[first].parsed = None
