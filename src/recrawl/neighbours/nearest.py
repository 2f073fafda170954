"""Which pages are most like each page? The nearest by the angle between vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import BadInput
from recrawl.model import Neighbours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray

EXACT = 1_000_000  #: vectors up to which every pair is compared
PROBED = 16  #: cells that are looked into beyond that
ROUNDS = 10  #: in which the cells are learned; more find no more
FILLED = 39  #: vectors that a cell must be learned from
CLOSEST = 1e-6  #: least distance: copies of a page shall not weigh infinitely
_BATCH = 4_096  # rows asked for at a time


def nearest(
    vectors: NDArray[np.float32],
    k: int = 30,
    *,
    rows: IntArray | None = None,
    weights: str = "cosine",
    exact: int = EXACT,
) -> Neighbours:
    """The k pages nearest to each page, or to each of `rows`, never itself.

    Vectors are of length 1, or all zero: such pages have no neighbours and are nobody's. A
    neighbour weighs as the cosine to it, or with `weights="inverse"` as 1 / distance.
    """
    if k < 1:
        raise BadInput(f"k, the number of neighbours, must be at least 1. Got {k}.")
    if weights not in ("cosine", "inverse"):
        raise BadInput(f"weights must be 'cosine' or 'inverse'. Got {weights!r}.")
    asked = np.arange(len(vectors)) if rows is None else np.asarray(rows)
    vectors = np.ascontiguousarray(vectors, np.float32)
    known = np.flatnonzero(vectors.any(axis=1))
    found, cosine = np.full((len(asked), k), -1, np.int64), np.zeros((len(asked), k))
    if len(known) < 2:
        return Neighbours(found, cosine)
    index = _index(vectors[known], exact)
    able = np.flatnonzero(vectors[asked].any(axis=1))
    for begin in range(0, len(able), _BATCH):
        part = able[begin : begin + _BATCH]
        near, place = index.search(vectors[asked[part]], min(k + 1, len(known)))
        row = np.where(place >= 0, known[place], -1)
        row, near = _without(asked[part], row, near)
        found[part, : row.shape[1]], cosine[part, : row.shape[1]] = row, near
    return Neighbours(found, _weights(cosine, found >= 0, weights))


def _without(own: IntArray, row: IntArray, near: FloatArray) -> tuple[IntArray, FloatArray]:
    """Leave out each page itself; the last where it is not among its many copies."""
    itself = row == own[:, None]
    itself[:, -1] |= ~itself.any(axis=1)
    shape = (len(own), row.shape[1] - 1)
    return row[~itself].reshape(shape), near[~itself].reshape(shape)


def _weights(cosine: FloatArray, there: NDArray[np.bool_], kind: str) -> FloatArray:
    cosine = np.clip(cosine, 0.0, 1.0)
    if kind == "inverse":  # of unit vectors
        cosine = 1.0 / np.maximum(np.sqrt(2.0 - 2.0 * cosine), CLOSEST)
    return np.where(there, cosine, 0.0)


def _index(vectors: NDArray[np.float32], exact: int) -> Any:
    import faiss

    index: Any = faiss.IndexFlatIP(vectors.shape[1])
    cells = min(int(4 * np.sqrt(len(vectors))), len(vectors) // FILLED)
    if len(vectors) > exact and cells > PROBED:
        index = faiss.IndexIVFFlat(index, index.d, cells, faiss.METRIC_INNER_PRODUCT)
        index.nprobe, index.cp.niter = PROBED, ROUNDS
        index.train(vectors[:: max(len(vectors) // (cells * 50), 1)])
    index.add(vectors)
    return index
