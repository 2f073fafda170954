"""Which robots.txt do we know, and which are being asked for?"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from recrawl.fetch import robots

if TYPE_CHECKING:
    from recrawl.fetch.answer import Answer
    from recrawl.fetch.robots import Robots

TRIES = 3
MOST = 20_000  #: files held

_log = logging.getLogger(__name__)


class RobotsCache:
    """What the robots.txt of each origin says, for as long as that holds."""

    def __init__(self) -> None:
        self._known: dict[str, Robots] = {}
        self._tries: dict[str, int] = {}  # of each origin whose file is being asked for

    def get(self, origin: str, now: float) -> Robots | None:
        """What holds now; None: it has to be asked for."""
        found = self._known.get(origin)
        return found if found is not None and now < found.until else None

    def is_asked(self, origin: str) -> bool:
        """Whether its file is being asked for."""
        return origin in self._tries

    def ask(self, origin: str) -> None:
        """Its file is being asked for from now on."""
        self._tries[origin] = 0

    def read(self, origin: str, answer: Answer, now: float) -> Robots | None:
        """What an answer means for an origin; None: ask once more, when the host has rested."""
        found = robots.read(answer, now)
        if found is None:
            self._tries[origin] = self._tries.get(origin, 0) + 1
            if self._tries[origin] < TRIES and answer.blames_host:
                return None
            found = robots.unreachable(now)
        return found

    def settle(self, origin: str, found: Robots) -> Robots:
        """Keep what holds for an origin, with a delay that can be borne."""
        if found.delay > robots.LONGEST_DELAY:
            _log.warning(
                "%s asks for %.0f s between requests; %.0f s are kept.",
                origin,
                found.delay,
                robots.LONGEST_DELAY,
            )
            found = replace(found, delay=robots.LONGEST_DELAY)
        self._tries.pop(origin, None)
        self._known.pop(origin, None)
        while len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[origin] = found
        return found

    def sitemaps(self, host: str) -> list[str]:
        """What the files of a host name, for those of its schemes that were asked."""
        found = [self._known.get(f"{scheme}://{host}") for scheme in ("https", "http")]
        return [url for known in found if known for url in known.sitemaps]
