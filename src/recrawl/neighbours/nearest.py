"""Which pages are most similar to each page? The nearest by the angle between vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import BadInput
from recrawl.model import Neighbours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray, IntArray

MAX_EXACT = 1_000_000  #: vectors up to which every pair is compared; beyond that, cells of them
N_PROBED = 16  #: cells that are searched
N_ROUNDS = 10  #: to learn the cells; more do not find more neighbours
MIN_CELL_VECTORS = 39  #: that a cell is learned from
MIN_DISTANCE = 1e-6  #: so that the weight of an identical page stays finite
BATCH = 4_096  #: rows searched at a time


def nearest(
    vectors: NDArray[np.float32],
    k: int = 30,
    *,
    rows: IntArray | None = None,
    weights: str = "cosine",
    exact: int = MAX_EXACT,
) -> Neighbours:
    """The k pages nearest to each page, or to each of `rows`, never itself.

    Vectors have length 1, or are all zero: such a page has no neighbours and is not a neighbour.
    The weight of a neighbour is its cosine, or with `weights="inverse"` 1 / distance.
    """
    if k < 1:
        raise BadInput(f"k, the number of neighbours, must be at least 1. Got {k}.")
    if weights not in ("cosine", "inverse"):
        raise BadInput(f"weights must be 'cosine' or 'inverse'. Got {weights!r}.")
    queried = np.arange(len(vectors)) if rows is None else np.asarray(rows)
    vectors = np.ascontiguousarray(vectors, np.float32)
    known = np.flatnonzero(vectors.any(axis=1))
    neighbour, cosine = np.full((len(queried), k), -1, np.int64), np.zeros((len(queried), k))
    if len(known) < 2:
        return Neighbours(neighbour, cosine)
    index = _index(vectors[known], exact)
    has_vector = np.flatnonzero(vectors[queried].any(axis=1))
    for begin in range(0, len(has_vector), BATCH):
        part = has_vector[begin : begin + BATCH]
        near, place = index.search(vectors[queried[part]], min(k + 1, len(known)))
        row = np.where(place >= 0, known[place], -1)
        row, near = _without(queried[part], row, near)
        neighbour[part, : row.shape[1]], cosine[part, : row.shape[1]] = row, near
    return Neighbours(neighbour, _weights(cosine, neighbour >= 0, weights))


def _without(own: IntArray, row: IntArray, near: FloatArray) -> tuple[IntArray, FloatArray]:
    """Leave out each page itself; or the last one, if identical pages push it off the list."""
    itself = row == own[:, None]
    itself[:, -1] |= ~itself.any(axis=1)
    shape = (len(own), row.shape[1] - 1)
    return row[~itself].reshape(shape), near[~itself].reshape(shape)


def _weights(cosine: FloatArray, is_there: NDArray[np.bool_], kind: str) -> FloatArray:
    cosine = np.clip(cosine, 0.0, 1.0)
    if kind == "inverse":  # distance of unit vectors
        cosine = 1.0 / np.maximum(np.sqrt(2.0 - 2.0 * cosine), MIN_DISTANCE)
    return np.where(is_there, cosine, 0.0)


def _index(vectors: NDArray[np.float32], exact: int) -> Any:
    import faiss

    index: Any = faiss.IndexFlatIP(vectors.shape[1])
    cells = min(int(4 * np.sqrt(len(vectors))), len(vectors) // MIN_CELL_VECTORS)
    if len(vectors) > exact and cells > N_PROBED:
        index = faiss.IndexIVFFlat(index, index.d, cells, faiss.METRIC_INNER_PRODUCT)
        index.nprobe, index.cp.niter = N_PROBED, N_ROUNDS
        index.train(vectors[:: max(len(vectors) // (cells * 50), 1)])
    index.add(vectors)
    return index
