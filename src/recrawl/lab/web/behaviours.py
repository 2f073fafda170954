"""How do hosts behave? Each behaviour applies to a share of the hosts, drawn with a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from xxhash import xxh3_64_intdigest

from recrawl.errors import BadInput
from recrawl.lab.worlds.world import shares

Validators = Literal["right", "lying", "wrong", "none"]
Lastmod = Literal["truthful", "stale", "restamped"]

_SHARES = (
    *("lying", "wrong", "no_validators", "stale", "restamped"),
    *("slow", "failing", "failures", "redirects", "disallowed"),
)


class Outage(NamedTuple):
    """A host accepts connections and closes them, from one day of the window to another."""

    host: str
    begin: float  #: days after the start of the window
    end: float


class HostBehaviour(NamedTuple):
    """How one host behaves."""

    validators: Validators
    lastmod: Lastmod
    slow: bool
    failing: bool
    disallows: bool  #: robots.txt disallows one of its directories


@dataclass(frozen=True)
class Behaviours:
    """Shares of the hosts unless noted otherwise. By default all hosts behave well.

    Delays are real seconds, whatever the clock of the trace does.
    """

    lying: float = 0.0  #: answer 304 to any validator, even if the page has changed
    wrong: float = 0.0  #: send a new ETag and Last-Modified with every response
    no_validators: float = 0.0
    stale: float = 0.0  #: the sitemap stays as at the start of the window
    restamped: float = 0.0  #: the sitemap says that every page changed just now
    slow: float = 0.0
    latency: float = 1.0  #: seconds, of slow hosts
    failing: float = 0.0
    failures: float = 0.5  #: share of the requests to failing hosts that get 503; never robots.txt
    retry_after: int = 1  #: seconds, sent with 503
    redirects: float = 0.0  #: share of the pages; they moved to the same URL with `?moved`
    disallowed: float = 0.0  #: robots.txt disallows a directory of the trace too
    robots_delay: float = 0.0  #: Crawl-delay of all hosts in seconds; 0: none
    down: tuple[Outage, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        shares(**{name: getattr(self, name) for name in _SHARES})
        shares(
            lying_wrong_and_no_validators=round(self.lying + self.wrong + self.no_validators, 9),
            stale_and_restamped=round(self.stale + self.restamped, 9),
        )
        for down in self.down:
            if not 0 <= down.begin < down.end:
                raise BadInput(f"down must start before it ends. Got {down}; try days 3 to 10.")
        for name in ("latency", "retry_after", "robots_delay"):
            if not 0 <= getattr(self, name) < 86_400:
                raise BadInput(
                    f"{name} must be from 0 seconds to a day. Got {getattr(self, name)}; try 1."
                )

    def of(self, host: str) -> HostBehaviour:
        """The behaviour of one host; always the same for the same seed."""
        return HostBehaviour(
            validators=self._validators(self._draw("validators", host)),
            lastmod=self._lastmod(self._draw("sitemap", host)),
            slow=self._draw("slow", host) < self.slow,
            failing=self._draw("failing", host) < self.failing,
            disallows=self._draw("disallowed", host) < self.disallowed,
        )

    def fails(self, host: str, number: int) -> bool:
        """Whether this request to a failing host, counted from 0, fails."""
        return self._draw("failure", f"{host} {number}") < self.failures

    def moved(self, url: str) -> bool:
        """Whether this page redirects to another URL."""
        return self.redirects > 0 and self._draw("moved", url) < self.redirects

    def pick(self, host: str, choices: int) -> int:
        """The index of one of a number of choices, drawn for a host."""
        return int(self._draw("pick", host) * choices)

    def _validators(self, drawn: float) -> Validators:
        if drawn < self.lying:
            return "lying"
        if drawn < self.lying + self.wrong:
            return "wrong"
        return "none" if drawn < self.lying + self.wrong + self.no_validators else "right"

    def _lastmod(self, drawn: float) -> Lastmod:
        if drawn < self.stale:
            return "stale"
        return "restamped" if drawn < self.stale + self.restamped else "truthful"

    def _draw(self, purpose: str, name: str) -> float:
        """A number from 0 to 1, drawn with the seed for a purpose and a host or page."""
        return float(xxh3_64_intdigest(f"{self.seed} {purpose} {name}".encode()) / 2**64)
