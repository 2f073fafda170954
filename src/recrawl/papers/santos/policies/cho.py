"""Which pages now, by changes a visit alone, however fresh the copy?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.policies.stateless import Stateless
from recrawl.rates.cho import cho

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time


class ChoPolicy(Stateless):
    """The baseline CG of Santos (2013). It ignores time, so it keeps visiting the same pages."""

    name: ClassVar[str] = "cho"

    def score(self, pages: Pages, now: Time) -> FloatArray:  # noqa: ARG002 the paper ignores it
        return cho(pages.n_compared, pages.n_changes)
