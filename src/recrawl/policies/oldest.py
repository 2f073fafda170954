"""Which pages now, oldest copy first?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.policies.stateless import Stateless

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time


class Oldest(Stateless):
    """Days since the last visit: round robin. The thesis's "Age" (Santos 2013)."""

    name: ClassVar[str] = "oldest"

    def score(self, pages: Pages, now: Time) -> FloatArray:
        return pages.copy_age(now)
