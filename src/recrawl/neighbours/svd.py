"""The leading right singular vectors of a large sparse matrix, by random projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr, svd
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

EXTRA_DIRECTIONS = 10  #: random directions beyond those asked for, which make the others exact
POWER_STEPS = 2  #: multiplications that sharpen the difference between large and small values


def right_singular_vectors(matrix: csr_matrix, n: int, *, seed: int) -> NDArray[np.float32]:
    """The first `n` right singular vectors, a row each (Halko, Martinsson & Tropp 2011).

    The larger dimension is projected, so that the dense matrices stay narrow.
    """
    is_wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T if is_wide else matrix
    draws = np.random.RandomState(seed)  # these draws made the figures in docs/results.md
    basis = draws.normal(size=(tall.shape[1], n + EXTRA_DIRECTIONS)).astype(tall.dtype, copy=False)
    for _ in range(POWER_STEPS):
        basis = tall.T @ (tall @ basis)
    with threadpool_limits(1):  # on so narrow a matrix more threads only wait for each other
        basis, _ = qr(tall @ basis, mode="economic")
        small, _, right = svd(basis.T @ tall, full_matrices=False)
    left = (basis @ small).T
    vectors, partners = (left, right) if is_wide else (right, left)
    return np.asarray(vectors[:n] * _signs(partners[:n]), np.float32)


def _signs(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The sign of the largest entry of each row; it makes the signs of both sides definite."""
    largest = np.abs(vectors).argmax(axis=1)
    return np.asarray(np.sign(vectors[np.arange(len(vectors)), largest]))[:, None]
