"""Experts: the solver against scikit-learn's, features against the text, nothing from the future."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from recrawl.detectors.chi_squared import ChiSquared
from recrawl.papers.radinsky.algorithms import (
    Setting,
    alone,
    bagged,
    boosted,
    frequency,
    union,
    view,
    vote,
)
from recrawl.papers.radinsky.features import own, page, shared, unigrams
from recrawl.papers.radinsky.learners.platt import platt, probability
from recrawl.papers.radinsky.learners.svm import fit, polynomial
from recrawl.papers.radinsky.series.snapshots import Snapshots, counted


def test_the_solver_is_scikit_learns():
    from sklearn.svm import SVC

    random = np.random.default_rng(0)
    for case in range(12):
        x = random.normal(size=(40, 5))
        y = np.where(x[:, 0] + random.normal(size=40) > 0, 1.0, -1.0)
        cost = random.uniform(0.1, 3, 40) if case % 2 else np.full(40, 1.0)
        kernel = polynomial(x @ x.T, 5.0)
        theirs = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(kernel, y, sample_weight=cost)
        weight, threshold, said = fit(kernel, y, cost)
        np.testing.assert_allclose(said, theirs.decision_function(kernel), atol=0.02)
        np.testing.assert_allclose(said, kernel @ weight - threshold, atol=1e-9)


def snapshots(texts):
    """Pages by day, from lists of texts; None is a day not seen."""
    flat = [text or "" for page in texts for text in page]
    table = counted(pa.array(flat, pa.large_string()))
    copy = np.arange(len(flat)).reshape(len(texts), -1)
    missing = np.array([[text is None for text in page] for page in texts])
    return Snapshots(table, np.where(missing, -1, copy))


def pages_of(found, changed):
    shares = found.distributions()
    return [page(found, shares, i, changed[i]) for i in range(found.pages)]


def share(text, words):
    said = text.split()
    return np.array([said.count(word) / max(len(said), 1) for word in words])


def cosine(x, y):
    size = np.linalg.norm(x) * np.linalg.norm(y)
    return x @ y / size if size else 0.0


TEXTS = [
    ["a b c", "a b c d", "a a", "b c d d", "a b c", "c d"],
    ["b b c", "b d", "b d", "", "d", "a c d"],
]
BITS = np.array([[np.nan, 1, 0, 1, 1, 0], [np.nan, 0, 0, 1, 0, 1]])


@pytest.mark.parametrize(("window", "ahead"), [(1, 1), (2, 1), (2, 2)])
def test_features_are_those_of_the_text(window, ahead):
    a, b = pages_of(snapshots(TEXTS), BITS)
    said = [[share(text, "abcd") for text in page] for page in TEXTS]
    day = 5
    mine, theirs = own(a, window=window, ahead=ahead)[day], shared(a, b, window=window)[day]

    def moved(page, i, j):
        return np.linalg.norm(said[page][day - i] - said[page][day - j])

    bits = BITS[0, day - window + 1 : day + 1][::-1]
    expected = [bits.mean()]
    expected += [moved(0, 0, i) for i in range(1, window + 1)]
    expected += [moved(0, i, i + ahead) for i in range(1, window + 1)]
    np.testing.assert_allclose(mine, [*expected, *bits], atol=1e-7)
    together = [cosine(said[0][day - i], said[1][day - i]) for i in range(window + 1)]
    for i in range(1, window + 1):
        fresh = said[1][day] - said[1][day - i]
        together += [
            cosine(fresh, said[0][day]),
            cosine(fresh, said[0][day] - said[0][day - i]),
        ]
    np.testing.assert_allclose(theirs, together, atol=1e-7)
    words = np.array(said[0])
    np.testing.assert_allclose(unigrams(a), words @ words.T, atol=1e-7)


def test_the_future_moves_no_feature():
    day, random = 3, np.random.default_rng(5)
    rows = []
    for other in (TEXTS, [[*texts[: day + 1], "z z", None] for texts in TEXTS]):
        bits = BITS.copy()
        bits[:, day + 1 :] = random.integers(2, size=(2, 2))
        a, b = pages_of(snapshots(other), bits)
        grams = unigrams(a)[: day + 1, : day + 1]
        rows.append([own(a, window=2)[: day + 1], shared(a, b, window=2)[: day + 1], grams])
    for one, changed in zip(*rows, strict=True):
        np.testing.assert_array_equal(one, changed)


def world(seed=0, days=80):
    """A page that changes the day after another does; and one that nobody follows."""
    random = np.random.default_rng(seed)
    lead, other = (random.random((2, days)) < 0.4).astype(float)
    follow = np.concatenate([[0.0], lead[:-1]])
    bits = np.array([follow, lead, other])
    bits[:, 0] = np.nan
    texts = [[f"w{int(n)} common" for n in np.nancumsum(row)] for row in bits]
    return pages_of(snapshots(texts), bits), bits


SETTING = Setting(np.arange(50, 79), 50)


def right(said, bits):
    return ((said > 0) == (bits[SETTING.days + 1] > 0)).mean()


def test_an_expert_that_leads_is_found_out():
    (target, leader, other), bits = world()
    label = bits[0]
    itself = view(target, None, SETTING)
    views = [itself, view(target, leader, SETTING), view(target, other, SETTING)]
    said = np.array([alone(seen, label, SETTING) for seen in views])
    assert right(said[1], label) == 1.0
    assert right(said[0], label) < 0.8
    assert right(vote(said, np.array([1.0, 3.0, 0.5])) - 0.5, label) == 1.0
    whole = union(views)
    for learner in (alone, bagged, boosted):
        assert right(learner(whole, label, SETTING), label) > 0.9


def test_what_is_said_of_a_day_does_not_depend_on_later_days():
    said = []
    for later in (0.0, 1.0):
        (target, leader, _), bits = world()
        label = bits[0].copy()
        label[66:] = later
        seen = union([view(target, None, SETTING), view(target, leader, SETTING)])
        learners = (alone, bagged, boosted, lambda _, *rest: frequency(*rest))
        said.append([learner(seen, label, SETTING)[:16] for learner in learners])
    np.testing.assert_array_equal(*said)


def test_one_label_and_unknown_days():
    (target, leader, _), _ = world()
    for value in (0.0, 1.0):
        label = np.full(80, value)
        seen = view(target, leader, SETTING)
        for learner in (alone, bagged, boosted):
            assert (np.sign(learner(seen, label, SETTING)) == 2 * value - 1).all()
    texts = [["a"] * 80, [None] * 80, ["a b"] * 60 + [None] * 20]
    bits = np.where(np.array([[t is None for t in row] for row in texts]), np.nan, 0.0)
    a, never, gone = pages_of(snapshots(texts), bits)
    assert np.isnan(alone(view(a, never, SETTING), bits[0], SETTING)).all()
    said = alone(view(a, gone, SETTING), bits[0], SETTING)
    assert np.isfinite(said[:10]).all()
    assert np.isnan(said[10:]).all()
    assert (vote(np.array([said]), np.ones(1)) == 0).all()
    assert (frequency(bits[1], SETTING) == 0).all()
    assert np.isnan(alone(view(never, a, SETTING), bits[1], SETTING)).all()


def test_platt_is_the_most_likely_sigmoid():
    from scipy.optimize import minimize

    random = np.random.default_rng(2)
    score = random.normal(size=60)
    yes = score + random.normal(size=60) > 0.3
    target = np.where(yes, (yes.sum() + 1) / (yes.sum() + 2), 1 / ((~yes).sum() + 2))

    def loss(line):
        z = line[0] * score + line[1]
        return (np.logaddexp(0, z) - (1 - target) * z).sum()

    best = minimize(loss, [0.0, 0.0], tol=1e-12).x
    np.testing.assert_allclose(platt(score, yes), best, atol=1e-4)
    p = probability(score, platt(score, yes))
    assert ((p > 0) & (p < 1)).all()
    assert np.corrcoef(p, score)[0, 1] > 0.9


def test_platt_of_one_kind_only():
    line = platt(np.zeros(4), np.zeros(4, bool))
    assert probability(np.zeros(1), line)[0] == pytest.approx(1 / 6, abs=1e-3)


def test_significant_change_as_the_detector_has_it():
    """K10 is in the tests of detectors; here the words that the paper's test calls a change."""
    old, much = "word " * 60 + "thing " * 40, "word " * 30 + "thing " * 30 + "new " * 40
    table = pa.table({"text": [old, old]}), pa.table({"text": [much, old + " new"]})
    assert ChiSquared().changed(*table).to_pylist() == [True, False]
