"""Learners by name: each learns, and one that is not installed names its extra."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.errors import BadInput, MissingExtra
from recrawl.lab import learners
from recrawl.lab.learners import LEARNERS, learner
from recrawl.lab.rankings import spearman

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 3))
MEAN = np.exp(X[:, 0])
COUNT = RANDOM.poisson(MEAN).astype(float)
SMALL = {
    "extra-trees": {"n_estimators": 30},
    "hist-boost": {"max_iter": 40},
    "lightgbm": {"n_estimators": 40, "n_jobs": 1},
    "ngboost": {"n_estimators": 40, "learning_rate": 0.1, "col_sample": 1.0},
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "task"), [(n, t) for n in LEARNERS for t in LEARNERS[n]])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_each_learns_with_unknown_values(name, task):
    x = X.copy()
    x[::9, 1] = np.nan
    y = (COUNT > 1).astype(float) if task == "class" else COUNT
    fitted = learner(name, task, seed=1, **SMALL[name]).fit(x[:200], y[:200])
    predicted = fitted.predict_proba(x[200:])[:, 1] if task == "class" else fitted.predict(x[200:])
    assert spearman(MEAN[200:], predicted) > 0.7
    again = learner(name, task, seed=1, **SMALL[name]).fit(x[:200], y[:200])
    np.testing.assert_allclose(again.predict(x[200:]), fitted.predict(x[200:]))  # threads add up
    if task == "count":
        assert (predicted > 0).all()


def test_a_learner_not_installed_names_its_extra(monkeypatch):
    def gone(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(learners, "import_module", gone)
    with pytest.raises(MissingExtra, match=r"lightgbm, which is not installed.*recrawl\[papers\]"):
        learner("lightgbm", "count")
    with pytest.raises(MissingExtra, match=r"ngboost, which is not installed.*recrawl\[papers\]"):
        learner("ngboost", "count")
    assert not learners.is_installed("lightgbm")


def test_bad_names():
    with pytest.raises(BadInput, match=r"No learner called 'svm'\. Known: extra-trees"):
        learner("svm", "class")
    with pytest.raises(
        BadInput, match=r"'extra-trees' has no task 'count'\. It predicts: class, number"
    ):
        learner("extra-trees", "count")
