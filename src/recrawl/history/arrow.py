"""Arrow columns ↔ NumPy arrays that may be written to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.history.fold import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray


def values(column: Any, missing: float | None = None) -> NDArray[Any]:
    """The values of an Arrow column; nulls become `missing`."""
    if missing is not None:
        column = pc.fill_null(column, missing)
    return np.array(column.to_numpy(zero_copy_only=False), copy=True)


def kept(table: pa.Table, mask: BoolArray) -> pa.Table:
    """The rows where `mask` is true; the table itself if these are all."""
    return table if mask.all() else table.filter(pa.array(mask))


def micros(column: Any) -> NDArray[np.int64]:
    """A column of times as microseconds, NEVER where null."""
    return values(column.cast(pa.int64()), NO_TIME)


def times(micros: NDArray[np.int64]) -> pa.Array:
    """Microseconds as a column of times, null where NEVER."""
    return pa.array(micros, pa.int64(), mask=micros == NO_TIME).cast(pa.timestamp("us"))
