"""What is a page about, in twenty numbers? Columns of its vector that go together, averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import extra
from recrawl.papers.dang.feature import Feature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray
    from recrawl.papers.dang.crawls import Snapshot

GROUPS = 20


def meaning(snapshot: Snapshot) -> list[Feature]:
    """The family SPsem: as many features as there are groups, at most GROUPS."""
    columns = agglomerated(snapshot.vectors)

    def column(number: int) -> Feature:
        return Feature(f"meaning_{number}", "SP", lambda *_: columns[:, number])

    return [column(number) for number in range(columns.shape[1])]


def agglomerated(vectors: NDArray[np.float32], groups: int = GROUPS) -> FloatArray:
    """The means of columns that point the same way: complete linkage by cosine."""
    with extra("papers", "Merging features"):
        from sklearn.cluster import FeatureAgglomeration

    used = vectors[:, vectors.any(axis=0)].astype(np.float64)
    if used.shape[1] <= groups:
        return used
    merge = FeatureAgglomeration(n_clusters=groups, metric="cosine", linkage="complete")
    columns: FloatArray = merge.fit_transform(used)
    return columns
