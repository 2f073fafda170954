"""What the tests of this paper share: small learners."""

from __future__ import annotations

import multiprocessing.dummy

import pytest
from threadpoolctl import threadpool_limits

from recrawl.lab import experiment as runner
from recrawl.lab import learners
from recrawl.papers.dang import models, tuning


@pytest.fixture
def quick(monkeypatch):
    """Small forests, no library that takes seconds to load, and threads, to which all this holds."""
    monkeypatch.setattr(runner, "get_context", lambda _: multiprocessing.dummy)
    small = dict(learners.LEARNERS)
    for name in ("extra-trees", "hist-boost", "lightgbm"):
        trees = {"max_iter": 5} if name == "hist-boost" else {"n_estimators": 5, "n_jobs": 1}
        small[name] = {t: (c, given | trees) for t, (c, given) in small[name].items()}
    small["ngboost"] = {"count": small["lightgbm"]["count"]}
    monkeypatch.setattr(learners, "LEARNERS", small)
    monkeypatch.setattr(learners, "_seeded", lambda _, seed: {"random_state": seed})
    monkeypatch.setattr(tuning, "SIZES", (3, 5))
    grid = {"min_samples_leaf": (2, 10)}
    forest = tuning.TuningRanges(grid, "n_estimators", (3,))
    monkeypatch.setitem(tuning.RANGES, "extra-trees", forest)
    boost = tuning.TuningRanges({"learning_rate": (0.05, 0.1)} | grid, "max_iter")
    monkeypatch.setitem(tuning.RANGES, "hist-boost", boost)
    monkeypatch.setattr(models, "N_TREES_IMPORTANCE", 3)
    monkeypatch.setattr(tuning, "N_REPEATS", 1)
    learners.learner("hist-boost", "number")
    learners.learner("lightgbm", "count")
    with threadpool_limits(1):  # of libraries that are loaded; threads only wait on so few rows
        yield
