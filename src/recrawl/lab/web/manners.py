"""How do hosts behave? Each behaviour is that of a seeded share of them."""

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


class Down(NamedTuple):
    """A host that takes connections and closes them, from one day of the window to another."""

    host: str
    begin: float  #: days after the window's begin
    end: float


class Manner(NamedTuple):
    """How one host behaves."""

    validators: Validators
    lastmod: Lastmod
    slow: bool
    failing: bool
    closed: bool  #: robots.txt disallows one of its directories


@dataclass(frozen=True)
class Manners:
    """Shares of the hosts, where nothing else is said. By default all is well.

    Delays are real seconds, as a crawler counts them, whatever the clock of the trace does.
    """

    lying: float = 0.0  #: answer 304 to any validator, although the page has changed
    wrong: float = 0.0  #: a new ETag and Last-Modified with every answer
    no_validators: float = 0.0
    stale: float = 0.0  #: the sitemap is that of the window's begin for ever
    restamped: float = 0.0  #: the sitemap says of every page that it changed just now
    slow: float = 0.0
    latency: float = 1.0  #: of slow hosts
    failing: float = 0.0
    failures: float = 0.5  #: of the requests to failing hosts; they get 503. Never robots.txt.
    retry_after: int = 1
    redirects: float = 0.0  #: of the pages; they moved to the same address with `?moved`
    disallowed: float = 0.0  #: robots.txt disallows a directory of the trace too
    robots_delay: float = 0.0  #: Crawl-delay of all hosts; 0: none
    down: tuple[Down, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        shares(**{name: getattr(self, name) for name in _SHARES})
        shares(
            lying_wrong_and_no_validators=round(self.lying + self.wrong + self.no_validators, 9),
            stale_and_restamped=round(self.stale + self.restamped, 9),
        )
        for down in self.down:
            if not 0 <= down.begin < down.end:
                raise BadInput(f"down must begin before it ends. Got {down}; try days 3 to 10.")
        for name in ("latency", "retry_after", "robots_delay"):
            if not 0 <= getattr(self, name) < 86_400:
                raise BadInput(
                    f"{name} must be from 0 seconds to a day. Got {getattr(self, name)}; try 1."
                )

    def of(self, host: str) -> Manner:
        """Always the same for the same host and seed."""
        return Manner(
            validators=self._validators(self._lot("validators", host)),
            lastmod=self._lastmod(self._lot("sitemap", host)),
            slow=self._lot("slow", host) < self.slow,
            failing=self._lot("failing", host) < self.failing,
            closed=self._lot("disallowed", host) < self.disallowed,
        )

    def fails(self, host: str, number: int) -> bool:
        """Does this request, counted from 0, to a failing host fail?"""
        return self._lot("failure", f"{host} {number}") < self.failures

    def moved(self, url: str) -> bool:
        """Has this page another address now?"""
        return self.redirects > 0 and self._lot("moved", url) < self.redirects

    def pick(self, host: str, choices: int) -> int:
        """One of so many things of a host."""
        return int(self._lot("pick", host) * choices)

    def _validators(self, lot: float) -> Validators:
        if lot < self.lying:
            return "lying"
        if lot < self.lying + self.wrong:
            return "wrong"
        return "none" if lot < self.lying + self.wrong + self.no_validators else "right"

    def _lastmod(self, lot: float) -> Lastmod:
        if lot < self.stale:
            return "stale"
        return "restamped" if lot < self.stale + self.restamped else "truthful"

    def _lot(self, purpose: str, name: str) -> float:
        """A number from 0 to 1, fixed by the seed, what it is for and whom it is about."""
        return float(xxh3_64_intdigest(f"{self.seed} {purpose} {name}".encode()) / 2**64)
