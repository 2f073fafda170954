"""What does a host forbid? Its robots.txt, read after RFC 9309."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from protego import Protego

from recrawl.fetch.answer import BUSY
from recrawl.page.decode import unpack
from recrawl.urls import resolved

if TYPE_CHECKING:
    from recrawl.fetch.answer import Answer

AGENT = "recrawl"
MOST_BYTES = 500 * 1024  #: what is read of the file
MOST_HOPS = 5  #: redirects followed
KEPT = 86_400.0  #: seconds for which a file is not asked for again
RETRIED = 300.0  #: seconds after which a host that did not give its file is asked again
LONGEST_DELAY = 60.0  #: seconds; a longer crawl-delay is taken as this
_MOST_SITEMAPS = 1000


@dataclass(frozen=True, slots=True)
class Robots:
    """What one robots.txt says to us."""

    until: float  #: when it has to be read again, by the engine's clock
    rules: Protego | None = None  #: None: all is allowed
    reachable: bool = True  #: False: nothing is allowed, for now
    delay: float = 0.0  #: seconds between requests, as written
    sitemaps: list[str] = field(default_factory=list)

    def allows(self, url: str) -> bool:
        return self.rules is None or bool(self.rules.can_fetch(url, AGENT))


def read(answer: Answer, now: float) -> Robots | None:
    """What an answer to the request for robots.txt means; None: ask again."""
    if 200 <= answer.status < 300:
        return _parsed(answer, now)
    if 300 <= answer.status < 500 and answer.status != BUSY:
        return Robots(now + KEPT)
    return None


def unreachable(now: float) -> Robots:
    """A host that does not give its file is not to be visited."""
    return Robots(now + RETRIED, reachable=False)


def _parsed(answer: Answer, now: float) -> Robots:
    body = unpack(answer.body, answer.header(b"Content-Encoding"), MOST_BYTES).body
    text = body.decode("utf-8-sig", "replace").replace("\0", "")
    rules = Protego.parse(text)
    named = resolved(list(rules.sitemaps)[:_MOST_SITEMAPS], answer.url)
    return Robots(
        until=now + KEPT,
        rules=rules,
        delay=max(0.0, rules.crawl_delay(AGENT) or 0.0),
        sitemaps=list(dict.fromkeys(url for url in named if url)),
    )
