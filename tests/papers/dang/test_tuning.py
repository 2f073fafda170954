"""Tuning of the learners, importance of features, and how predictions are scored."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.errors import BadInput
from recrawl.lab.learners import learner
from recrawl.papers.dang import tuning
from recrawl.papers.dang.scores import of_classes, of_numbers
from recrawl.papers.dang.tuning import importance, tuned

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 3))
MEAN = np.exp(X[:, 0])
COUNT = RANDOM.poisson(MEAN).astype(float)


def test_each_class_must_occur_twice():
    with pytest.raises(BadInput, match="each class twice"):
        tuned("extra-trees", "class", X[:9], np.arange(9) < 1, {"min_samples_leaf": (2,)})


def test_tuning_finds_that_a_leaf_of_everything_tells_nothing():
    grid = {"min_samples_leaf": (2, 100)}
    assert tuned("extra-trees", "number", X, MEAN, grid, n_estimators=10) == {"min_samples_leaf": 2}


def test_a_forest_on_many_rows_sees_some_of_them(monkeypatch):
    monkeypatch.setattr(tuning, "MAX_TREE_ROWS", 50)
    fitted = learner("extra-trees", "number", n_estimators=5, **tuning.bounded(300, 2)).fit(X, MEAN)
    assert all(tree.tree_.n_node_samples[0] <= 50 for tree in fitted.estimators_)


def test_the_column_that_matters():
    fitted = learner("extra-trees", "number", n_estimators=20).fit(X, MEAN)
    assert importance(fitted, "number", X, MEAN).argmax() == 0


def test_scores_are_those_of_scikit_learn():
    from sklearn import metrics

    predicted = COUNT + RANDOM.normal(size=300)
    numbers = of_numbers(COUNT, predicted)
    assert numbers["R²"] == pytest.approx(metrics.r2_score(COUNT, predicted))
    assert numbers["MedAE"] == pytest.approx(metrics.median_absolute_error(COUNT, predicted))
    truth, guess = COUNT > 1, predicted > 1.5
    classes = of_classes(truth, guess)
    expected = metrics.precision_recall_fscore_support(truth, guess, average="binary")[:3]
    assert [classes[k] for k in ("precision", "recall", "F1")] == pytest.approx(list(expected))
    assert classes["accuracy (b)"] == pytest.approx(metrics.balanced_accuracy_score(truth, guess))
    nothing = of_classes(np.zeros(3, bool), np.zeros(3, bool))
    assert nothing == {"recall": 0, "precision": 0, "F1": 0, "accuracy (b)": 0.5}
    assert of_numbers(np.ones(3), np.zeros(3))["R²"] == 0
