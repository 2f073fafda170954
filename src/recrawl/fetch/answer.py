"""What came back of one request, and what does it ask for?"""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from recrawl import urls
from recrawl.errors import BadUrl

#: Problems that speak of the host and not of the page: they make us leave it alone for a while.
OF_HOST = {"timeout", "dns", "connect", "tls", "failed"}

REFUSED = "the address is not public"  #: a problem of a page, and not of a host that answers
BUSY = 429
LONGEST_PAUSE = 86_400.0  #: seconds; a longer Retry-After is taken as this
_REDIRECTS = {301, 302, 303, 307, 308}
_BROKEN = 500
_UNAVAILABLE = 503

Headers = dict[bytes, list[bytes]]


@dataclass(slots=True)
class Answer:
    """A response as it came, still in its Content-Encoding, or the reason why there is none."""

    url: str  #: as asked; `get` puts the last of a chain of redirects here
    at: float  #: when it was asked, by the engine's clock
    status: int  #: of HTTP, or NO_ANSWER
    headers: Headers
    body: bytes
    seconds: float | None  #: None: it was not asked for
    problem: str | None = None  #: why there is no answer

    def first_headers(self) -> dict[str, str]:
        """The first value of each header, by its name in lower case."""
        return {
            name.decode("latin-1").lower(): values[0].decode("latin-1")
            for name, values in self.headers.items()
            if values
        }

    def header(self, name: bytes) -> str | None:
        """The first value of a header, by its name in Title-Case."""
        values = dict.get(self.headers, name)  # not as Scrapy's own, which gives the last
        return values[0].decode("latin-1") if values else None

    @property
    def is_redirect(self) -> bool:
        return self.status in _REDIRECTS

    @property
    def target(self) -> str | None:
        """The canonical URL that a redirect leads to, if it is one of a web page."""
        location = self.header(b"Location")
        try:
            return urls.canonical(location, base=self.url) if location else None
        except BadUrl:
            return None

    def retry_after(self, now: float) -> float:
        """For how many seconds a busy host wants to be left alone."""
        said = self.header(b"Retry-After") if self.status in (BUSY, _UNAVAILABLE) else None
        if not said:
            return 0.0
        try:
            until = parsedate_to_datetime(said).timestamp() if not said.isdigit() else None
            seconds = float(said) if until is None else until - now
        except (ValueError, TypeError, OverflowError):
            return 0.0
        return min(max(seconds, 0.0), LONGEST_PAUSE)

    @property
    def blames_host(self) -> bool:
        """Whether asking the host for something else right now is likely to fail too."""
        return self.problem in OF_HOST or self.status == BUSY or self.status >= _BROKEN


class Skipped(NamedTuple):
    """A page of the plan that was not asked for, and why."""

    url: str
    reason: str
