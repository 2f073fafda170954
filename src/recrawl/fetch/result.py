"""What did one request return? A response, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple

from recrawl import urls
from recrawl.page.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Problems of the host rather than the page: the host rests before its next request.
HOST_PROBLEMS = {"timeout", "dns", "connect", "tls", "failed"}

TOO_MANY_REQUESTS = 429
NO_MEMORY = "too large while memory is short"
MAX_BODIES_BYTES = 256_000_000  #: of all bodies in flight and unread
MAX_PAUSE_SECONDS = 86_400.0  #: a longer Retry-After is cut to this
_REDIRECT_STATUSES = {301, 302, 303, 307, 308}
_SERVER_ERROR = 500
_UNAVAILABLE = 503

Headers = dict[bytes, list[bytes]]


@dataclass(slots=True)
class FetchResult:
    """An HTTP response, its Content-Encoding not yet undone; or the reason why there is none."""

    url: str  #: as requested; after `get`, the last one of a chain of redirects
    at: float  #: when it was requested, by the engine's clock
    status: int  #: HTTP status, or NO_ANSWER
    headers: Headers
    body: bytes
    seconds: float | None  #: None: no request was sent
    problem: str | None = None  #: why there is no response
    sent: Mapping[str, str] = field(default_factory=dict)  #: headers of the request

    def to_response(self) -> Response:
        """As the response of a page, with the first value of each header."""
        headers = {
            name.decode("latin-1").lower(): values[0].decode("latin-1")
            for name, values in self.headers.items()
            if values
        }
        is_skipped = self.seconds is None
        return Response(
            self.url,
            self.at,
            self.status,
            headers,
            self.body,
            self.seconds,
            skipped=is_skipped,
            problem=self.problem,
        )

    def header(self, name: bytes) -> str | None:
        """The first value of a header; `name` in Title-Case."""
        values = dict.get(self.headers, name)  # Scrapy's own `get` gives the last
        return values[0].decode("latin-1") if values else None

    @property
    def is_redirect(self) -> bool:
        return self.status in _REDIRECT_STATUSES

    @property
    def target(self) -> str | None:
        """The canonical URL of the Location header; None if there is none or it is no web page."""
        location = self.header(b"Location")
        return urls.resolve_links([location], self.url)[0] if location else None

    def retry_after(self, now: float) -> float:
        """Seconds for which the host asks for no requests (429, 503); 0 if it does not ask."""
        value = (
            self.header(b"Retry-After")
            if self.status in (TOO_MANY_REQUESTS, _UNAVAILABLE)
            else None
        )
        if not value:
            return 0.0
        try:
            if value.isdigit():
                seconds = float(value)
            else:
                until = parsedate_to_datetime(value).timestamp()
                seconds = until - min(now, self._server_time(now))  # our clock may be ahead
        except (ValueError, TypeError, OverflowError):
            return 0.0
        return min(max(seconds, 0.0), MAX_PAUSE_SECONDS)

    def _server_time(self, now: float) -> float:
        """When the response was sent, by the server's clock; `now` if it does not say."""
        try:
            return parsedate_to_datetime(self.header(b"Date") or "").timestamp()
        except (ValueError, TypeError, OverflowError):
            return now

    @property
    def is_host_problem(self) -> bool:
        """Whether another request to the host right now is likely to fail too."""
        return (
            self.problem in HOST_PROBLEMS
            or self.status == TOO_MANY_REQUESTS
            or self.status >= _SERVER_ERROR
        )


class SkippedPage(NamedTuple):
    """A page of the plan that was not requested, and why."""

    url: str
    reason: str
