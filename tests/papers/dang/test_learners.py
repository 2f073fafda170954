"""Learners: each learns, says what is missing, is tuned and asked what matters."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.errors import BadInput, MissingExtra
from recrawl.lab.rankings import spearman
from recrawl.papers.dang import learners
from recrawl.papers.dang.learners import LEARNERS, importance, learner, tuned
from recrawl.papers.dang.scores import of_classes, of_numbers

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


@pytest.mark.parametrize(("name", "task"), [(n, t) for n in LEARNERS for t in LEARNERS[n]])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_each_learns_gaps_and_all(name, task):
    x = X.copy()
    x[::9, 1] = np.nan
    y = (COUNT > 1).astype(float) if task == "class" else COUNT
    taught = learner(name, task, seed=1, **SMALL[name]).fit(x[:200], y[:200])
    said = taught.predict_proba(x[200:])[:, 1] if task == "class" else taught.predict(x[200:])
    assert spearman(MEAN[200:], said) > 0.7
    again = learner(name, task, seed=1, **SMALL[name]).fit(x[:200], y[:200])
    np.testing.assert_allclose(again.predict(x[200:]), taught.predict(x[200:]))  # threads add up
    if task == "count":
        assert (said > 0).all()


def test_a_learner_not_installed_names_its_extra(monkeypatch):
    def gone(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(learners, "import_module", gone)
    with pytest.raises(MissingExtra, match=r"lightgbm, which is not installed.*recrawl\[papers\]"):
        learner("lightgbm", "count")
    with pytest.raises(MissingExtra, match=r"ngboost, which is not installed.*recrawl\[papers\]"):
        learner("ngboost", "count")
    assert not learners.has("lightgbm")


def test_bad_names():
    with pytest.raises(BadInput, match=r"No learner called 'svm'\. Known: extra-trees"):
        learner("svm", "class")
    with pytest.raises(
        BadInput, match=r"'extra-trees' has no task 'count'\. It tells: class, number"
    ):
        learner("extra-trees", "count")
    with pytest.raises(BadInput, match="each class twice"):
        tuned("extra-trees", "class", X[:9], np.arange(9) < 1, {"min_samples_leaf": (2,)})


def test_tuning_finds_that_a_leaf_of_everything_tells_nothing():
    grid = {"min_samples_leaf": (2, 100)}
    assert tuned("extra-trees", "number", X, MEAN, grid, n_estimators=10) == {"min_samples_leaf": 2}


def test_a_forest_on_many_rows_sees_some_of_them(monkeypatch):
    monkeypatch.setattr(learners, "MANY", 50)
    taught = learner("extra-trees", "number", n_estimators=5, **learners.bounded(300, 2)).fit(
        X, MEAN
    )
    assert all(tree.tree_.n_node_samples[0] <= 50 for tree in taught.estimators_)


def test_the_column_that_matters():
    taught = learner("extra-trees", "number", n_estimators=20).fit(X, MEAN)
    assert importance(taught, "number", X, MEAN).argmax() == 0


def test_scores_are_those_of_scikit_learn():
    from sklearn import metrics

    said = COUNT + RANDOM.normal(size=300)
    numbers = of_numbers(COUNT, said)
    assert numbers["R²"] == pytest.approx(metrics.r2_score(COUNT, said))
    assert numbers["MedAE"] == pytest.approx(metrics.median_absolute_error(COUNT, said))
    truth, guess = COUNT > 1, said > 1.5
    classes = of_classes(truth, guess)
    expected = metrics.precision_recall_fscore_support(truth, guess, average="binary")[:3]
    assert [classes[k] for k in ("precision", "recall", "F1")] == pytest.approx(list(expected))
    assert classes["accuracy (b)"] == pytest.approx(metrics.balanced_accuracy_score(truth, guess))
    nothing = of_classes(np.zeros(3, bool), np.zeros(3, bool))
    assert nothing == {"recall": 0, "precision": 0, "F1": 0, "accuracy (b)": 0.5}
    assert of_numbers(np.ones(3), np.zeros(3))["R²"] == 0
