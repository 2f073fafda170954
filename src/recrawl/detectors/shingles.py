"""Is a large part of the text another?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from recrawl.page.fingerprints import shingle_distance, shingles


@dataclass(kw_only=True)
class Shingles:
    """Changed when the share of shingles not in both texts exceeds `tau`.

    `inclusive` asks for at least `tau` instead, as Wolf et al. do where Pandey & Olston exceed it.
    At `tau` 1 the first sees total rewrites, the second nothing.
    """

    name: ClassVar[str] = "shingles"
    needs: ClassVar[tuple[str, ...]] = ("text",)

    tau: float = 0.1
    inclusive: bool = False
    width: int = 5

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        pairs = zip(before["text"].to_pylist(), after["text"].to_pylist(), strict=True)
        return pa.array([self._differs(old, new) for old, new in pairs], pa.bool_())

    def _differs(self, old: str | None, new: str | None) -> bool | None:
        if old is None or new is None:
            return None
        sets = (shingles(text, width=self.width) for text in (old, new))
        distance = shingle_distance(*sets)
        return distance >= self.tau if self.inclusive else distance > self.tau
