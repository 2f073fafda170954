"""Random draws are a function of key, seed and time."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.random import uniform


def test_draws_are_below_one_and_depend_on_seed_and_time():
    key = np.arange(100_000, dtype=np.uint64)
    drawn = uniform(key, 1, 5.0)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert drawn.mean() == pytest.approx(0.5, abs=0.01)
    for other in (uniform(key, 2, 5.0), uniform(key, 1, 6.0)):
        assert abs(np.corrcoef(drawn, other)[0, 1]) < 0.02
