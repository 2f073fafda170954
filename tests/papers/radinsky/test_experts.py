"""Solver against scikit-learn's, features against their definition, nothing from the future."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from recrawl.detectors.chi_squared import ChiSquared
from recrawl.papers.radinsky.algorithms import (
    Setup,
    adaboost,
    bagging,
    change_frequency,
    feature_products,
    relational_union,
    single_expert,
    weighted_vote,
)
from recrawl.papers.radinsky.features import (
    page_days,
    page_features,
    relation_features,
    unigram_products,
)
from recrawl.papers.radinsky.learners.platt import fit_platt, probability
from recrawl.papers.radinsky.learners.svm import fit_svm, polynomial
from recrawl.papers.radinsky.series.snapshots import (
    Snapshots,
    count_words,
    vocabulary,
)


def test_the_solver_agrees_with_scikit_learn():
    from sklearn.svm import SVC

    random = np.random.default_rng(0)
    for case in range(12):
        x = random.normal(size=(40, 5))
        y = np.where(x[:, 0] + random.normal(size=40) > 0, 1.0, -1.0)
        cost = random.uniform(0.1, 3, 40) if case % 2 else np.full(40, 1.0)
        kernel = polynomial(x @ x.T, 5.0)
        theirs = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(kernel, y, sample_weight=cost)
        weight, threshold, decision = fit_svm(kernel, y, cost)
        np.testing.assert_allclose(decision, theirs.decision_function(kernel), atol=0.02)
        np.testing.assert_allclose(decision, kernel @ weight - threshold, atol=1e-9)


def snapshots(texts):
    """Pages by day, from lists of texts; None is a day without a snapshot."""
    flat = pa.array([text or "" for page in texts for text in page], pa.large_string())
    table = count_words(flat, vocabulary(flat))
    copy = np.arange(len(flat)).reshape(len(texts), -1)
    missing = np.array([[text is None for text in page] for page in texts])
    return Snapshots(table, np.where(missing, -1, copy))


def pages_of(snapshots, changed):
    return [page_days(snapshots, i, row) for i, row in enumerate(changed)]


def share(text, words):
    tokens = text.split()
    return np.array([tokens.count(word) / max(len(tokens), 1) for word in words])


def cosine(x, y):
    size = np.linalg.norm(x) * np.linalg.norm(y)
    return x @ y / size if size else 0.0


TEXTS = [
    ["a b c", "a b c d", "a a", "b c d d", "a b c", "c d"],
    ["b b c", "b d", "b d", "", "d", "a c d"],
]
BITS = np.array([[np.nan, 1, 0, 1, 1, 0], [np.nan, 0, 0, 1, 0, 1]])


@pytest.mark.parametrize(("window", "ahead"), [(1, 1), (2, 1), (2, 2)])
def test_features_are_those_of_the_paper(window, ahead):
    a, b = pages_of(snapshots(TEXTS), BITS)
    shares = [[share(text, "abcd") for text in page] for page in TEXTS]
    day = 5
    own, related = (
        page_features(a, window=window, ahead=ahead)[day],
        relation_features(a, b, window=window)[day],
    )

    def moved(page, i, j):
        return np.linalg.norm(shares[page][day - i] - shares[page][day - j])

    bits = BITS[0, day - window + 1 : day + 1][::-1]
    expected = [bits.mean()]
    expected += [moved(0, 0, i) for i in range(1, window + 1)]
    expected += [moved(0, i, i + ahead) for i in range(1, window + 1)]
    np.testing.assert_allclose(own, [*expected, *bits], atol=1e-7)
    expected = [cosine(shares[0][day - i], shares[1][day - i]) for i in range(window + 1)]
    for i in range(1, window + 1):
        change = shares[1][day] - shares[1][day - i]
        expected += [
            cosine(change, shares[0][day]),
            cosine(change, shares[0][day] - shares[0][day - i]),
        ]
    np.testing.assert_allclose(related, expected, atol=1e-7)
    words = np.array(shares[0])
    np.testing.assert_allclose(unigram_products(a), words @ words.T, atol=1e-7)


def test_features_do_not_depend_on_later_days():
    day, random = 3, np.random.default_rng(5)
    rows = []
    for other in (TEXTS, [[*texts[: day + 1], "z z", None] for texts in TEXTS]):
        bits = BITS.copy()
        bits[:, day + 1 :] = random.integers(2, size=(2, 2))
        a, b = pages_of(snapshots(other), bits)
        grams = unigram_products(a)[: day + 1, : day + 1]
        rows.append(
            [
                page_features(a, window=2)[: day + 1],
                relation_features(a, b, window=2)[: day + 1],
                grams,
            ]
        )
    for one, changed in zip(*rows, strict=True):
        np.testing.assert_array_equal(one, changed)


def world(seed=0, days=80):
    """A page that changes the day after another does; that one; and an unrelated one."""
    random = np.random.default_rng(seed)
    lead, other = (random.random((2, days)) < 0.4).astype(float)
    follow = np.concatenate([[0.0], lead[:-1]])
    bits = np.array([follow, lead, other])
    bits[:, 0] = np.nan
    texts = [[f"w{int(n)} common" for n in np.nancumsum(row)] for row in bits]
    return pages_of(snapshots(texts), bits), bits


SETUP = Setup(np.arange(50, 79), 50)


def accuracy(decision, bits):
    return ((decision > 0) == (bits[SETUP.days + 1] > 0)).mean()


def test_an_expert_that_leads_predicts_the_target():
    (target, leader, other), bits = world()
    label = bits[0]
    own = feature_products(target, None, SETUP)
    experts = [own, feature_products(target, leader, SETUP), feature_products(target, other, SETUP)]
    decision = np.array([single_expert(features, label, SETUP) for features in experts])
    assert accuracy(decision[1], label) == 1.0
    assert accuracy(decision[0], label) < 0.8
    assert accuracy(weighted_vote(decision, np.array([1.0, 3.0, 0.5])) - 0.5, label) == 1.0
    union = relational_union(experts)
    for learner in (single_expert, bagging, adaboost):
        assert accuracy(learner(union, label, SETUP), label) > 0.9


def test_a_prediction_does_not_depend_on_later_days():
    decision = []
    for later in (0.0, 1.0):
        (target, leader, _), bits = world()
        label = bits[0].copy()
        label[66:] = later
        features = relational_union(
            [feature_products(target, None, SETUP), feature_products(target, leader, SETUP)]
        )
        learners = (single_expert, bagging, adaboost, lambda _, *rest: change_frequency(*rest))
        decision.append([learner(features, label, SETUP)[:16] for learner in learners])
    np.testing.assert_array_equal(*decision)


def test_one_label_and_unknown_days():
    (target, leader, _), _ = world()
    for value in (0.0, 1.0):
        label = np.full(80, value)
        features = feature_products(target, leader, SETUP)
        for learner in (single_expert, bagging, adaboost):
            assert (np.sign(learner(features, label, SETUP)) == 2 * value - 1).all()
    texts = [["a"] * 80, [None] * 80, ["a b"] * 60 + [None] * 20]
    bits = np.where(np.array([[t is None for t in row] for row in texts]), np.nan, 0.0)
    a, never, gone = pages_of(snapshots(texts), bits)
    assert np.isnan(single_expert(feature_products(a, never, SETUP), bits[0], SETUP)).all()
    decision = single_expert(feature_products(a, gone, SETUP), bits[0], SETUP)
    assert np.isfinite(decision[:10]).all()
    assert np.isnan(decision[10:]).all()
    assert (weighted_vote(np.array([decision]), np.ones(1)) == 0).all()
    assert (change_frequency(bits[1], SETUP) == 0).all()
    assert np.isnan(single_expert(feature_products(never, a, SETUP), bits[1], SETUP)).all()


def test_platt_minimises_the_loss():
    from scipy.optimize import minimize

    random = np.random.default_rng(2)
    score = random.normal(size=60)
    yes = score + random.normal(size=60) > 0.3
    target = np.where(yes, (yes.sum() + 1) / (yes.sum() + 2), 1 / ((~yes).sum() + 2))

    def loss(line):
        z = line[0] * score + line[1]
        return (np.logaddexp(0, z) - (1 - target) * z).sum()

    best = minimize(loss, [0.0, 0.0], tol=1e-12).x
    np.testing.assert_allclose(fit_platt(score, yes), best, atol=1e-4)
    p = probability(score, fit_platt(score, yes))
    assert ((p > 0) & (p < 1)).all()
    assert np.corrcoef(p, score)[0, 1] > 0.9


def test_platt_with_one_label_only():
    line = fit_platt(np.zeros(4), np.zeros(4, bool))
    assert probability(np.zeros(1), line)[0] == pytest.approx(1 / 6, abs=1e-3)


def test_a_significant_change_by_the_chi_squared_test():
    """Equation 1 of the paper."""
    old, much = "word " * 60 + "thing " * 40, "word " * 30 + "thing " * 30 + "new " * 40
    table = pa.table({"text": [old, old]}), pa.table({"text": [much, old + " new"]})
    assert ChiSquared().changed(*table).to_pylist() == [True, False]
