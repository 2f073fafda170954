"""The base of policies that learn nothing between cycles: all they need is in the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.model import Pages, Time
    from recrawl.protocols import History


class Stateless:
    """A policy without state."""

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        """Nothing to learn."""
