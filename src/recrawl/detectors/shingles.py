"""Did a large part of the text change?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from recrawl.detectors.pairs import compare_pairs
from recrawl.page.fingerprints import shingle_distance, shingles

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(kw_only=True)
class Shingles:
    """Changed when the share of shingles not in both texts exceeds `tau` (Pandey & Olston 2005).

    With `inclusive` a share of exactly `tau` is a change too (Wolf et al. 2002): then `tau` 1 sees
    total rewrites, otherwise it sees nothing.
    """

    name: ClassVar[str] = "shingles"
    needs: ClassVar[tuple[str, ...]] = ("text",)

    tau: float = 0.1
    inclusive: bool = False
    width: int = 5

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        return compare_pairs(self._differs, before["text"], after["text"])

    def _differs(self, old: str, new: str) -> bool:
        sets = (shingles(text, width=self.width) for text in (old, new))
        distance = shingle_distance(*sets)
        return distance >= self.tau if self.inclusive else distance > self.tau
