"""Which pages of a trace are served with a Last-Modified header, and is it right?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from recrawl import units, urls
from recrawl.errors import BadInput
from recrawl.random import uniform

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray, Time

#: What hosts send that do not send the truth.
OTHERS = {
    "none": "no stamp",
    "now": "the time of the request",
    "frozen": "a date that never moves",
    "random": "any time of the year before the request",
}
YEAR_SECONDS = 365 * 86_400.0


@dataclass(frozen=True)
class LastModified:
    """A `share` of the hosts sends true stamps; what the others send is one of OTHERS.

    In a trace of a single host the share is of its pages.
    """

    share: float
    others: str = "none"

    def __post_init__(self) -> None:
        if self.others not in OTHERS:
            raise BadInput(
                f"What other hosts send as Last-Modified must be one of {', '.join(OTHERS)}. "
                f"Got {self.others!r}; try 50%:now."
            )

    @classmethod
    def parse(cls, text: str | float) -> Self | None:
        """From "50%" or "50%:now"; None for "0%".

        >>> LastModified.parse("50%:now")
        LastModified(share=0.5, others='now')
        """
        if not isinstance(text, str):
            return cls(float(text)) if text else None
        share, colon, others = text.partition(":")
        stamps = cls(units.share(share), others.strip() if colon else "none")
        return stamps if stamps.share or colon else None

    def sent(
        self, trace: Trace, page: IntArray, version: IntArray, now: Time, seed: int
    ) -> FloatArray:
        """The stamp of each page served in a version, seconds; NaN for none."""
        true = trace.valid_from[version]
        draws = _draws(trace, page, seed)
        other = {
            "none": np.full(len(page), np.nan),
            "now": np.full(len(page), now),
            "frozen": np.full(len(page), trace.window[0] - YEAR_SECONDS),
            "random": now - YEAR_SECONDS * uniform(page.astype(np.uint64), seed, now),
        }[self.others]
        return np.where(draws < self.share, true, other)


def _draws(trace: Trace, page: IntArray, seed: int) -> FloatArray:
    """A number in [0, 1) for the host of each page, or for the page if there is one host."""
    hosts = np.unique([urls.host(url) for url in trace.urls], return_inverse=True)[1]
    who = hosts if hosts.any() else np.arange(len(hosts))
    return uniform(who[page].astype(np.uint64), seed)
