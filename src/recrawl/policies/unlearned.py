"""What does a policy that reads only the columns learn between cycles?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.model import Pages, Time
    from recrawl.protocols import History


class Unlearned:
    """Nothing."""

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        """All it needs is in the columns."""
