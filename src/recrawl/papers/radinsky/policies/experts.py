"""Which pages now, by the chance of a change that content and related pages tell?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.papers.radinsky import forecasts as related

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History


class Content(related.Content):
    """The chance of a change by the page's own past and how its words moved, learned (2D)."""

    name: ClassVar[str] = "content"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        return self.forecast(pages, now).p_change

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        self.fit(pages, now)


class Experts(related.Experts):
    """The chance of a change by the page and the pages that move along with it, learned (3D)."""

    name: ClassVar[str] = "experts"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        return self.forecast(pages, now).p_change

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        self.fit(pages, now)
