"""Pages like this one: known answers, plain slow versions, and pages that make trouble."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.errors import BadInput
from recrawl.papers.radinsky.relatedness.correlation import correlated, cross_correlation
from recrawl.papers.radinsky.relatedness.cosine import alike
from recrawl.papers.radinsky.relatedness.linked import joined
from recrawl.papers.radinsky.relatedness.warping import dtw, warped
from recrawl.papers.radinsky.series.snapshots import Snapshots, counted
from recrawl.papers.radinsky.series.word_series import dynamics

X, Y = (0, 0, 0, 1, 3, 1, 0, 0), (0, 1, 3, 1, 0, 0, 0, 0)
values = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("x", "y", "far"),
    [
        ((1, 2, 3, 4), (1, 1, 2, 3), 1),
        ((0, 0, 1, 2, 1, 0), (0, 1, 2, 1, 0, 0), 0),
        ((1, 3, 2, 4), (1, 2, 4, 4), 1),
        ((1, 2, 3), (4, 5, 6), 9),
        ((0, 1, 0, 1), (1, 0, 1, 0), 2),
    ],
)
def test_known_warpings(x, y, far):
    assert dtw(x, y) == far


def test_known_correlations():
    leads = [-0.269841, 0.315476, 0.900794, 0.216270, -0.388889]
    np.testing.assert_allclose(cross_correlation(X, Y, (0, 4)), leads, atol=1e-6)
    swapped = [-0.269841, -0.446429, -0.416667]
    np.testing.assert_allclose(cross_correlation(Y, X, (0, 2)), swapped, atol=1e-6)
    np.testing.assert_allclose(cross_correlation(X, Y, (2, 3)), leads[2:4], atol=1e-6)


def plain_dtw(x, y, band=None):
    band = max(len(x), len(y)) if band is None else max(band, abs(len(x) - len(y)))
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            if abs(i - j) <= band:
                before = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
                table[i, j] = abs(x[i - 1] - y[j - 1]) + before
    return table[-1, -1]


@settings(deadline=None)
@given(
    st.lists(st.floats(-9, 9), min_size=1, max_size=12),
    st.lists(st.floats(-9, 9), min_size=1, max_size=12),
    st.none() | st.integers(0, 12),
)
def test_warping_equals_the_plain_table(x, y, band):
    assert dtw(x, y, band) == pytest.approx(plain_dtw(x, y, band))


def plain_correlation(x, y, lag):
    x, y = np.array(x, float), np.array(y, float)
    if np.ptp(x) == 0 or np.ptp(y) == 0 or lag >= len(x):
        return 0.0
    met = (x[lag:] - x.mean()) * (y[: len(y) - lag] - y.mean())
    return met.sum() / (len(x) * x.std() * y.std())


@settings(deadline=None)
@given(values, st.integers(0, 4), st.integers(0, 6))
def test_correlation_equals_the_plain_formula(pairs, least, more):
    x, y = np.array(pairs, float).T / 7
    plain = [plain_correlation(x, y, lag) for lag in range(least, least + more + 1)]
    np.testing.assert_allclose(cross_correlation(x, y, (least, least + more)), plain, atol=1e-9)


def random_snapshots(seed=0, pages=30, days=20, words=25, missing=0.1):
    random = np.random.default_rng(seed)
    texts, copy = [], np.full((pages, days), -1)
    vocabulary = np.array([f"w{i}" for i in range(words)])
    for page in range(pages):
        said = random.choice(vocabulary, 12)
        for day in range(days):
            if not day or random.random() < 0.3:
                said = said.copy()
                said[random.integers(12, size=4)] = random.choice(vocabulary, 4)
                texts.append(" ".join(said))
            copy[page, day] = len(texts) - 1
    copy[random.random(copy.shape) < missing] = -1
    return Snapshots(counted(pa.array(texts, pa.large_string())), copy)


def dense_series(snapshots, page):
    """TF-IDF by word and day, the plain way; missing days are as the last known one."""
    copy = snapshots.copy[page]
    known = np.flatnonzero(copy >= 0)
    at = [copy[max(known[known <= d], default=known[0])] for d in range(len(copy))]
    return snapshots.counts[at].toarray().T * snapshots.idf()[:, None]


def plain_similarity(snapshots, p, e, lags):
    x, y = dense_series(snapshots, p), dense_series(snapshots, e)
    weight = x[:, -1]
    best = [
        max(plain_correlation(a, b, lag) for lag in range(lags[0], lags[1] + 1))
        for a, b in zip(x, y, strict=True)
    ]
    moves = np.ptp(x, axis=1) > 0
    return float(weight @ best / weight[moves].sum())


def plain_distance(snapshots, p, e, band):
    x, y = dense_series(snapshots, p), dense_series(snapshots, e)
    weight = x[:, -1]
    far = [plain_dtw(a, b, band) for a, b in zip(x, y, strict=True)]
    return float(weight @ far / weight.sum() / x.shape[1])


@pytest.mark.parametrize("lags", [(0, 4), (1, 3)])
def test_correlated_pages_are_those_of_the_plain_way(lags):
    snapshots = random_snapshots()
    found = correlated(dynamics(snapshots), 5, lags=lags)
    for page in (0, 7, 29):
        plain = np.array([plain_similarity(snapshots, page, e, lags) for e in range(30)])
        plain[page] = -1
        best = np.sort(plain)[::-1][:5]
        np.testing.assert_allclose(found.weight[page], best, rtol=1e-4)
        np.testing.assert_allclose(plain[found.row[page]], best, rtol=1e-4)


def test_warped_pages_are_those_of_the_plain_way():
    snapshots = random_snapshots(seed=1)
    found = warped(dynamics(snapshots), 5, band=3)
    for page in (0, 13, 29):
        plain = np.array([plain_distance(snapshots, page, e, 3) for e in range(30)])
        plain[page] = np.inf
        best = np.sort(plain)[:5]
        np.testing.assert_allclose(found.weight[page], 1 / (1 + best), rtol=1e-4)


@pytest.mark.parametrize("search", [correlated, warped])
def test_looking_at_few_finds_what_looking_at_all_does(search):
    told = dynamics(random_snapshots(seed=2, pages=120))
    fast, exact = search(told, 10), search(told, 10, exact=True)
    np.testing.assert_allclose(fast.weight, exact.weight, rtol=1e-5)


def test_alike_is_the_cosine():
    snapshots = random_snapshots(seed=3)
    found = alike(snapshots, 4)
    words = snapshots.counts[snapshots.last()].toarray()
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    near = words @ words.T
    np.fill_diagonal(near, -1)
    np.testing.assert_allclose(found.weight, np.sort(near, axis=1)[:, :-5:-1])


def test_linked_is_one_step_either_way():
    found = joined(np.array([0, 1, 3, 3]), np.array([1, 2, 3, 0]), 5, k=2)
    assert [set(row[row >= 0].tolist()) for row in found.row] == [{1, 3}, {0, 2}, {1}, {0}, set()]
    assert set(found.weight.ravel()) == {0.0, 1.0}


def test_without_links_nobody_is_linked():
    none = np.empty(0, np.int64)
    assert (joined(none, none, 3).row == -1).all()


def trouble():
    """An empty page, pages of one word, two identical ones, one that vanishes, one never seen."""
    texts = ["", "one", "one", "red green blue red", "red green blue red", "red green", "blue sky"]
    copy = np.array([[0] * 6, [1] * 6, [2] * 6, [3] * 6, [4] * 6, [5, 6, 5, -1, -1, -1], [-1] * 6])
    return Snapshots(counted(pa.array(texts, pa.large_string())), copy)


@pytest.mark.parametrize(
    ("search", "twin"),
    [(lambda s: correlated(dynamics(s)), -1), (lambda s: warped(dynamics(s)), 4), (alike, 4)],
)
def test_pages_that_make_trouble(search, twin):
    found = search(trouble())
    assert found.row.shape == (7, 20)  # fewer pages than k
    assert np.isfinite(found.weight).all()
    assert ((found.weight > 0) == (found.row >= 0)).all()
    assert (found.row[[0, 6]] == -1).all()  # of nothing nobody is like
    assert (found.row != np.arange(7)[:, None]).all()
    assert found.row[3, 0] == twin  # what never moves goes along with nothing
    assert found.weight[3, 0] == pytest.approx(float(twin >= 0))


def test_no_pages_at_all():
    nothing = Snapshots(counted(pa.array([], pa.large_string())), np.empty((0, 5), np.int64))
    for found in (correlated(dynamics(nothing)), warped(dynamics(nothing)), alike(nothing)):
        assert found.row.shape == (0, 20)


def test_the_vocabulary_is_capped():
    texts = pa.array(["a b c", "a b", "a"], pa.large_string())
    assert counted(texts, most=2).toarray().tolist() == [[1, 1], [1, 1], [1, 0]]
    with pytest.raises(BadInput, match="words"):
        counted(texts, most=0)


def test_wrong_arguments_are_named():
    with pytest.raises(BadInput, match="lags"):
        cross_correlation(X, Y, (2, 1))
    with pytest.raises(BadInput, match="band"):
        dtw(X, Y, -1)
    with pytest.raises(BadInput, match="two series"):
        dtw([], Y)
    with pytest.raises(BadInput, match="k, the number"):
        alike(trouble(), 0)
