"""The random projection finds what an exact decomposition finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from recrawl.neighbours.svd import right_singular_vectors


@pytest.mark.parametrize("shape", [(60, 25), (25, 60), (30, 30)])
def test_directions_and_signs_are_those_of_the_exact_decomposition(shape):
    random = np.random.default_rng(1)
    size = np.array([9.0, 5.0, 3.0, 1.0])
    left, right = (np.linalg.qr(random.normal(size=(n, 4)))[0] for n in shape)
    matrix = (left * size @ right.T).astype(np.float32)
    exact_left, _, exact = np.linalg.svd(matrix)
    largest = np.abs(exact_left[:, :3]).argmax(axis=0)
    signs = np.sign(exact_left[largest, np.arange(3)])  # the largest left entry is positive
    found = right_singular_vectors(csr_matrix(matrix), 3, seed=0)
    np.testing.assert_allclose(found, exact[:3] * signs[:, None], atol=1e-4)


def test_the_seed_decides():
    matrix = csr_matrix(np.random.default_rng(2).random((80, 40), np.float32))
    one, same, other = (right_singular_vectors(matrix, 5, seed=seed) for seed in (0, 0, 1))
    assert (one == same).all()
    assert not (one == other).all()


def test_values_that_fall_slowly_need_the_power_steps():
    random = np.random.default_rng(3)
    left, right = (np.linalg.qr(random.normal(size=(n, 100)))[0] for n in (300, 200))
    matrix = (left * 0.9 ** np.arange(100) @ right.T).astype(np.float32)
    found = right_singular_vectors(csr_matrix(matrix), 5, seed=0)
    assert (np.abs(found @ right[:, :5]).diagonal() > 0.99).all()
