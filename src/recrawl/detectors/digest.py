"""Did the digest change?"""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc


class Digest:
    """Changed when the digests differ; null unless both are of the same kind."""

    name: ClassVar[str] = "digest"
    needs: ClassVar[tuple[str, ...]] = ("digest", "digest_of")

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray:
        differs = pc.not_equal(before["digest"], after["digest"])
        comparable = pc.equal(before["digest_of"], after["digest_of"])
        return pc.if_else(comparable, differs, pa.scalar(None, pa.bool_())).combine_chunks()
