"""Did the outlinks change?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from recrawl.detectors.pairs import compare_pairs

if TYPE_CHECKING:
    import pyarrow as pa


class LinkSet:
    """Changed when a link is added or removed; order and repetition do not matter."""

    name: ClassVar[str] = "links"
    needs: ClassVar[tuple[str, ...]] = ("links",)

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        return compare_pairs(_differs, before["links"], after["links"])


def _differs(old: list[str], new: list[str]) -> bool:
    return old != new and set(old) != set(new)
