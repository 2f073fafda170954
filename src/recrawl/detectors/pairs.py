"""Compares old and new values pair by pair, for detectors that are not columnar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable


def compare_pairs(
    differs: Callable[[Any, Any], bool], before: pa.ChunkedArray, after: pa.ChunkedArray
) -> pa.BooleanArray:
    """Whether each pair differs; null where either value is missing."""
    pairs = zip(before.to_pylist(), after.to_pylist(), strict=True)
    judged = [None if old is None or new is None else differs(old, new) for old, new in pairs]
    return pa.array(judged, pa.bool_())
