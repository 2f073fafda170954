"""What does a host forbid? Reads robots.txt as RFC 9309 says."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recrawl.errors import extra
from recrawl.fetch.result import TOO_MANY_REQUESTS
from recrawl.page.decode import unpack
from recrawl.urls import resolve_links

with extra("crawl", "Fetching"):
    from protego import Protego

if TYPE_CHECKING:
    from recrawl.fetch.result import FetchResult

AGENT = "recrawl"
MAX_FILE_BYTES = 500 * 1024  #: the rest of the file is ignored
MAX_REDIRECTS = 5
CACHE_SECONDS = 86_400.0  #: for which a file is not requested again
RETRY_SECONDS = 300.0  #: after which an unreachable file is requested again
MAX_DELAY_SECONDS = 60.0  #: a longer Crawl-delay is cut to this
_MAX_SITEMAPS = 1000


@dataclass(slots=True, eq=False)
class RobotsRules:
    """What one robots.txt allows us. The text is parsed when it is first needed."""

    until: float  #: when it expires, by the engine's clock
    text: str = ""  #: of the file; empty: everything is allowed
    reachable: bool = True  #: False: nothing is allowed
    delay: float = 0.0  #: Crawl-delay in seconds
    sitemaps: list[str] = field(default_factory=list)
    parsed: Protego | None = None  #: takes about 15 times the memory of the text

    def allows(self, url: str) -> bool:
        if not self.text:
            return True
        if self.parsed is None:
            self.parsed = Protego.parse(self.text)
        return bool(self.parsed.can_fetch(url, AGENT))


def interpret(result: FetchResult, now: float) -> RobotsRules | None:
    """What the response to a request for robots.txt means; None: request it again."""
    if 200 <= result.status < 300:
        return _parsed(result, now)
    if 300 <= result.status < 500 and result.status != TOO_MANY_REQUESTS:
        return RobotsRules(now + CACHE_SECONDS)
    return None


def unreachable(now: float) -> RobotsRules:
    """The rules of a host whose robots.txt cannot be read: nothing is allowed."""
    return RobotsRules(now + RETRY_SECONDS, reachable=False)


def _parsed(result: FetchResult, now: float) -> RobotsRules:
    body = unpack(result.body, result.header(b"Content-Encoding"), MAX_FILE_BYTES).body
    text = body.decode(_charset(body), "replace").replace("\0", "")
    rules = Protego.parse(text)
    sitemaps = resolve_links(list(rules.sitemaps)[:_MAX_SITEMAPS], result.url)
    return RobotsRules(
        until=now + CACHE_SECONDS,
        text=text,
        delay=max(0.0, rules.crawl_delay(AGENT) or 0.0),
        sitemaps=list(dict.fromkeys(url for url in sitemaps if url)),
        parsed=rules,
    )


def _charset(body: bytes) -> str:
    """UTF-8, as the standard says, unless the file says by its mark that it is UTF-16."""
    is_utf16 = body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if is_utf16 else "utf-8-sig"
