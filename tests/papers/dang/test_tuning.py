"""Tuning of the learners, importance of features, and how predictions are scored."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.errors import BadInput
from recrawl.lab.learners import learner
from recrawl.papers.dang import tuning
from recrawl.papers.dang.scores import of_classes, of_numbers
from recrawl.papers.dang.tuning import RANGES, TuningRanges, _folds, _stages, importance, tuned

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 3))
MEAN = np.exp(X[:, 0])
COUNT = RANDOM.poisson(MEAN).astype(float)


def test_each_class_must_occur_twice():
    with pytest.raises(BadInput, match="each class twice"):
        tuned("extra-trees", "class", X[:9], np.arange(9) < 1)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(tuning, "SIZES", (4, 8))


def test_tuning_finds_that_a_leaf_of_everything_tells_nothing(small, monkeypatch):
    ranges = TuningRanges({"min_samples_leaf": (100, 2)}, "n_estimators", (4,))
    monkeypatch.setitem(RANGES, "extra-trees", ranges)
    assert tuned("extra-trees", "number", X, MEAN)["min_samples_leaf"] == 2
    assert tuned("extra-trees", "class", X, MEAN > 1)["min_samples_leaf"] == 2


def test_boosting_with_tiny_steps_needs_more_of_them(small, monkeypatch):
    grid = {"learning_rate": (1e-4, 0.3), "min_samples_leaf": (150, 5)}
    monkeypatch.setitem(RANGES, "hist-boost", TuningRanges(grid, "max_iter"))
    best = tuned("hist-boost", "number", X, MEAN)
    # With 150 rows at a leaf no step is of any use, and the first value stays until it is tuned.
    assert best == {"learning_rate": 1e-4, "min_samples_leaf": 5, "max_iter": 8}


def test_the_mean_over_folds_decides_then_the_first_fold_on_the_number_of_trees(monkeypatch):
    folds = {2: [1.0, 0.0, 0.0], 10: [0.5, 0.4, 0.5]}
    last = [0.1, 0.4, 0.3, 0.4]  # for each number of trees
    asked = []

    def scores(fitted, sizes, x, y):
        asked.append((fitted.min_samples_leaf, fitted.n_estimators, len(x)))
        return [folds[fitted.min_samples_leaf].pop(0)] if len(sizes) == 1 else last

    monkeypatch.setattr(tuning, "_scores", scores)
    monkeypatch.setattr(tuning, "SIZES", (2, 3, 4, 5))
    ranges = TuningRanges({"min_samples_leaf": (2, 10)}, "n_estimators", (1,))
    monkeypatch.setitem(RANGES, "extra-trees", ranges)
    best = tuned("extra-trees", "number", X, MEAN)
    assert best == {"min_samples_leaf": 10, "n_estimators": 3}
    assert asked == [*[(2, 1, 100)] * 3, *[(10, 1, 100)] * 3, (10, 5, 100)]


def test_more_trees_are_better_if_one_is_the_alternative(monkeypatch):
    monkeypatch.setattr(tuning, "SIZES", (1, 40))
    noisy = X[:, 0] + np.random.default_rng(1).normal(size=300)
    assert tuned("extra-trees", "number", X, noisy)["n_estimators"] == 40


@pytest.mark.parametrize("task", ["class", "number"])
def test_the_first_trees_are_a_smaller_forest(task):
    """The scores for each size are those of forests of that size, trained and asked as usual."""
    y = COUNT > 1 if task == "class" else MEAN
    whole = learner("extra-trees", task, n_estimators=9, min_samples_leaf=7).fit(X[:200], y[:200])
    said = list(_stages(whole, (3, 9), X[200:]))
    for size, predicted in zip((3, 9), said, strict=True):
        less = learner("extra-trees", task, n_estimators=size, min_samples_leaf=7)
        less.fit(X[:200], y[:200])
        asked = less.predict_proba(X[200:])[:, 1] if task == "class" else less.predict(X[200:])
        np.testing.assert_allclose(predicted, asked, rtol=1e-12)


def test_the_first_steps_are_a_smaller_boost():
    whole = learner("hist-boost", "number", max_iter=9).fit(X, MEAN)
    for size, predicted in zip((3, 9), _stages(whole, (3, 9), X), strict=True):
        np.testing.assert_allclose(
            predicted, learner("hist-boost", "number", max_iter=size).fit(X, MEAN).predict(X)
        )


def test_folds_hold_out_each_row_once():
    for task, y in (("class", COUNT > 1), ("number", COUNT)):
        folds = _folds(task, y, 0)
        assert len(folds) == 3
        assert sorted(np.concatenate([out for _, out in folds]).tolist()) == list(range(300))
        assert all(not set(fit) & set(out) for fit, out in folds)
    assert len(_folds("class", np.arange(9) < 2, 0)) == 2


def test_the_ranges_are_the_papers():
    assert (min(tuning.SIZES), max(tuning.SIZES)) == (200, 500)
    leaf = RANGES["extra-trees"].grid["min_samples_leaf"]
    assert (min(leaf), max(leaf)) == (2, 25)
    assert {2, 10} <= set(leaf)  # of Table 3
    boost = RANGES["hist-boost"].grid
    assert (min(boost["learning_rate"]), max(boost["learning_rate"])) == (0.02, 0.1)
    assert sorted(boost["min_samples_leaf"]) == [10, 25]


def test_a_forest_on_many_rows_sees_some_of_them(monkeypatch):
    monkeypatch.setattr(tuning, "MAX_TREE_ROWS", 50)
    settings = tuning.bounded(300, {"n_estimators": 5, "min_samples_leaf": 2})
    assert settings["min_samples_leaf"] == 5
    assert settings["max_features"] == pytest.approx(0.333, abs=0.001)  # one of the three here
    assert tuning.bounded(300, {"min_samples_leaf": 10})["min_samples_leaf"] == 10
    assert tuning.bounded(50, {"min_samples_leaf": 2}) == {"min_samples_leaf": 2}
    fitted = learner("extra-trees", "number", **settings).fit(X, MEAN)
    assert len(fitted.estimators_) == 5
    assert all(tree.tree_.n_node_samples[0] <= 50 for tree in fitted.estimators_)


def test_classes_weigh_the_same_whatever_their_number():
    """In one leaf of all rows, 3 of 30 are True: half of the weight, where the share is 0.1."""
    y = np.arange(30) < 3
    for name in ("extra-trees", "hist-boost", "lightgbm"):
        leaf = {"min_child_samples" if name == "lightgbm" else "min_samples_leaf": 30}
        fitted = learner(name, "class", **leaf).fit(X[:30], y)
        assert fitted.predict_proba(X[:30])[:, 1] == pytest.approx(np.full(30, 0.5))


def test_the_column_that_matters():
    fitted = learner("extra-trees", "number", n_estimators=20).fit(X, MEAN)
    assert importance(fitted, X, MEAN).argmax() == 0
    yes = learner("extra-trees", "class", n_estimators=20).fit(X, X[:, 1] > 0)
    shown = importance(yes, X, X[:, 1] > 0)
    assert shown.argmax() == 1
    assert shown[1] > 0.3  # shuffled it says nothing: balanced accuracy falls from 1 to a half


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
