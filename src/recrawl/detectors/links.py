"""Are the outlinks others?"""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa


class Links:
    """Changed when a link came or went; their order and number do not matter."""

    name: ClassVar[str] = "links"
    needs: ClassVar[tuple[str, ...]] = ("links",)

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        pairs = zip(before["links"].to_pylist(), after["links"].to_pylist(), strict=True)
        differs = [
            None if old is None or new is None else old != new and set(old) != set(new)
            for old, new in pairs
        ]
        return pa.array(differs, pa.bool_())
