"""Do the simhashes differ in more than a few bits?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.page.fingerprints import simhash


@dataclass(kw_only=True)
class Simhash:
    """Changed when more than `bits` of the 64 differ (Manku et al. 2007 take 3)."""

    name: ClassVar[str] = "simhash"
    needs: ClassVar[tuple[str, ...]] = ("simhash", "text")

    bits: int = 3

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        old, new = _simhashes(before), _simhashes(after)
        known = pc.and_(old.is_valid(), new.is_valid())
        distance = np.bitwise_count(_numbers(old) ^ _numbers(new))
        return pc.if_else(known, pa.array(distance > self.bits), pa.scalar(None, pa.bool_()))


def _simhashes(visits: pa.Table) -> pa.UInt64Array:
    """The recorded simhashes; where there is none, that of the text."""
    recorded = visits["simhash"].combine_chunks()
    if not recorded.null_count:
        return recorded
    texts = pc.if_else(recorded.is_null(), visits["text"].combine_chunks(), None).to_pylist()
    computed = [None if text is None else simhash(text) for text in texts]
    return pc.coalesce(recorded, pa.array(computed, pa.uint64()))


def _numbers(hashes: pa.UInt64Array) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.asarray(hashes.fill_null(0), dtype=np.uint64)
