"""What is a page about, in twenty numbers? Dimensions of its vector that go together, averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import extra
from recrawl.papers.dang.feature import Feature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray
    from recrawl.papers.dang.crawls import Snapshot

N_GROUPS = 20


def meaning(snapshot: Snapshot) -> list[Feature]:
    """The features that SPsem has beyond SP: as many as there are groups, at most N_GROUPS."""
    return [_group(number) for number in range(snapshot.crawls[snapshot.present].meaning.shape[1])]


def _group(number: int) -> Feature:
    def read(snapshot: Snapshot, back: int) -> FloatArray:
        return snapshot.crawls[snapshot.present - back].meaning[:, number]

    return Feature(f"meaning_{number}", "SP", read)


def merging(vectors: NDArray[np.float32], groups: int = N_GROUPS) -> FloatArray:
    """The matrix that averages dimensions of vectors which point the same way, dims × groups.

    Groups are found by complete linkage of the cosine; a dimension without any value is left out.
    """
    with extra("papers", "Merging features"):
        from sklearn.cluster import FeatureAgglomeration

    used = np.flatnonzero(vectors.any(axis=0))
    group = np.arange(len(used))
    if len(used) > groups:
        merge = FeatureAgglomeration(n_clusters=groups, metric="cosine", linkage="complete")
        group = merge.fit(vectors[:, used].astype(np.float64)).labels_
    matrix = np.zeros((vectors.shape[1], min(len(used), groups)))
    matrix[used, group] = 1.0 / np.bincount(group)[group]
    return matrix
