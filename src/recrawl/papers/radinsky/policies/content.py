"""Scores a page by its probability of a change, learned from its own past and words (2D)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.papers.radinsky.live.forecasters import ContentForecaster

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History


class Content(ContentForecaster):
    """The probability of a change, learned from the page's past and how its words moved (2D)."""

    name: ClassVar[str] = "content"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        return self.forecast(pages, now).p_change

    def learn(self, history: History, pages: Pages, now: Time) -> None:  # noqa: ARG002
        self.fit(pages, now)
