"""Which pages now, at random? The lowest baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.policies.stateless import Stateless
from recrawl.random import uniform

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time


class Random(Stateless):
    """Uniform in [0, 1), drawn again at each `now`; a page's draw does not depend on the others."""

    name: ClassVar[str] = "random"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def score(self, pages: Pages, now: Time) -> FloatArray:
        return uniform(pages.key, self.seed, now)
