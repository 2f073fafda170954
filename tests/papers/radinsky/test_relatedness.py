"""Related pages: known values, plain slow versions, and pages that are easy to get wrong."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.errors import BadInput
from recrawl.papers.radinsky.relatedness import correlation, warping
from recrawl.papers.radinsky.relatedness.correlation import most_correlated
from recrawl.papers.radinsky.relatedness.cosine import most_similar
from recrawl.papers.radinsky.relatedness.linked import linked_pages
from recrawl.papers.radinsky.relatedness.warping import nearest_by_dtw
from recrawl.papers.radinsky.series.snapshots import Snapshots, count_words, vocabulary
from recrawl.papers.radinsky.series.word_series import word_series

X, Y = (0, 0, 0, 1, 3, 1, 0, 0), (0, 1, 3, 1, 0, 0, 0, 0)
pairs_of_values = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=1, max_size=30
)


def dtw(x, y, band=99):
    band = max(band, abs(len(x) - len(y)))
    return warping._dtw(np.array(x, float), np.array(y, float), band, np.empty(len(y) + 1))


def cross_correlation(x, y, lag):
    x, y = (correlation._standardise(np.array(values, float)) for values in (x, y))
    return correlation._dot(x, y, lag) if lag < len(x) else 0.0


def counts_of(texts):
    texts = pa.array(texts, pa.large_string())
    return count_words(texts, vocabulary(texts))


@pytest.mark.parametrize(
    ("x", "y", "distance"),
    [
        ((1, 2, 3, 4), (1, 1, 2, 3), 1),
        ((0, 0, 1, 2, 1, 0), (0, 1, 2, 1, 0, 0), 0),
        ((1, 3, 2, 4), (1, 2, 4, 4), 1),
        ((1, 2, 3), (4, 5, 6), 9),
        ((0, 1, 0, 1), (1, 0, 1, 0), 2),
    ],
)
def test_known_values_of_dtw(x, y, distance):
    assert dtw(x, y) == distance


def test_known_values_of_cross_correlation():
    leads = [-0.269841, 0.315476, 0.900794, 0.216270, -0.388889]
    by_lag = [cross_correlation(X, Y, lag) for lag in range(5)]
    np.testing.assert_allclose(by_lag, leads, atol=1e-6)
    swapped = [cross_correlation(Y, X, lag) for lag in range(3)]
    np.testing.assert_allclose(swapped, [-0.269841, -0.446429, -0.416667], atol=1e-6)


def plain_dtw(x, y, band):
    band = max(band, abs(len(x) - len(y)))
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
    st.integers(0, 12),
)
def test_dtw_equals_the_plain_table(x, y, band):
    assert dtw(x, y, band) == pytest.approx(plain_dtw(x, y, band))


def plain_correlation(x, y, lag):
    x, y = np.array(x, float), np.array(y, float)
    if np.ptp(x) == 0 or np.ptp(y) == 0 or lag >= len(x):
        return 0.0
    met = (x[lag:] - x.mean()) * (y[: len(y) - lag] - y.mean())
    return met.sum() / (len(x) * x.std() * y.std())


@settings(deadline=None)
@given(pairs_of_values, st.integers(0, 6))
def test_cross_correlation_equals_the_plain_formula(pairs, lag):
    x, y = np.array(pairs, float).T / 7
    assert cross_correlation(x, y, lag) == pytest.approx(plain_correlation(x, y, lag), abs=1e-9)


def random_snapshots(seed=0, pages=30, days=20, words=25, missing=0.1):
    random = np.random.default_rng(seed)
    texts, copy = [], np.full((pages, days), -1)
    vocabulary = np.array([f"w{i}" for i in range(words)])
    for page in range(pages):
        words_of_page = random.choice(vocabulary, 12)
        for day in range(days):
            if not day or random.random() < 0.3:
                words_of_page = words_of_page.copy()
                words_of_page[random.integers(12, size=4)] = random.choice(vocabulary, 4)
                texts.append(" ".join(words_of_page))
            copy[page, day] = len(texts) - 1
    copy[random.random(copy.shape) < missing] = -1
    return Snapshots(counts_of(texts), copy)


def dense_series(snapshots, page):
    """TF-IDF by word and day, in plain code; a missing day equals the last known one."""
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
def test_most_correlated_equals_the_plain_similarity(lags):
    snapshots = random_snapshots()
    neighbours = most_correlated(word_series(snapshots), 5, lags=lags)
    for page in (0, 7, 29):
        plain = np.array([plain_similarity(snapshots, page, e, lags) for e in range(30)])
        plain[page] = -1
        best = np.sort(plain)[::-1][:5]
        np.testing.assert_allclose(neighbours.weight[page], best, rtol=1e-4)
        np.testing.assert_allclose(plain[neighbours.row[page]], best, rtol=1e-4)


def test_nearest_by_dtw_equals_the_plain_distance():
    snapshots = random_snapshots(seed=1)
    neighbours = nearest_by_dtw(word_series(snapshots), 5, band=3)
    for page in (0, 13, 29):
        plain = np.array([plain_distance(snapshots, page, e, 3) for e in range(30)])
        plain[page] = np.inf
        best = np.sort(plain)[:5]
        np.testing.assert_allclose(neighbours.weight[page], 1 / (1 + best), rtol=1e-4)


@pytest.mark.parametrize("search", [most_correlated, nearest_by_dtw])
def test_candidates_contain_the_exact_neighbours(search):
    words = word_series(random_snapshots(seed=2, pages=120))
    fast, exact = search(words, 10), search(words, 10, exact=True)
    np.testing.assert_allclose(fast.weight, exact.weight, rtol=1e-5)


def test_most_similar_is_by_cosine():
    snapshots = random_snapshots(seed=3)
    neighbours = most_similar(snapshots, 4)
    words = snapshots.counts[snapshots.last()].toarray()
    words /= np.linalg.norm(words, axis=1, keepdims=True)
    near = words @ words.T
    np.fill_diagonal(near, -1)
    np.testing.assert_allclose(neighbours.weight, np.sort(near, axis=1)[:, :-5:-1])


def test_linked_pages_are_one_link_away_in_either_direction():
    neighbours = linked_pages(np.array([0, 1, 3, 3]), np.array([1, 2, 3, 0]), 5, k=2)
    assert [set(row[row >= 0].tolist()) for row in neighbours.row] == [
        {1, 3},
        {0, 2},
        {1},
        {0},
        set(),
    ]
    assert set(neighbours.weight.ravel()) == {0.0, 1.0}


def test_without_links_no_page_is_related():
    none = np.empty(0, np.int64)
    assert (linked_pages(none, none, 3).row == -1).all()


def hard_pages():
    """Empty, of one word, two identical, one that vanishes, one never seen."""
    texts = ["", "one", "one", "red green blue red", "red green blue red", "red green", "blue sky"]
    copy = np.array([[0] * 6, [1] * 6, [2] * 6, [3] * 6, [4] * 6, [5, 6, 5, -1, -1, -1], [-1] * 6])
    return Snapshots(counts_of(texts), copy)


@pytest.mark.parametrize(
    ("search", "twin"),
    [
        (lambda s: most_correlated(word_series(s)), -1),
        (lambda s: nearest_by_dtw(word_series(s)), 4),
        (most_similar, 4),
    ],
)
def test_hard_pages(search, twin):
    neighbours = search(hard_pages())
    assert neighbours.row.shape == (7, 20)  # fewer pages than k
    assert np.isfinite(neighbours.weight).all()
    assert ((neighbours.weight > 0) == (neighbours.row >= 0)).all()
    assert (neighbours.row[[0, 6]] == -1).all()  # a page without words has no neighbours
    assert (neighbours.row != np.arange(7)[:, None]).all()
    assert neighbours.row[3, 0] == twin  # a page that never moves correlates with none
    assert neighbours.weight[3, 0] == pytest.approx(float(twin >= 0))


def test_no_pages_at_all():
    nothing = Snapshots(counts_of([]), np.empty((0, 5), np.int64))
    for neighbours in (
        most_correlated(word_series(nothing)),
        nearest_by_dtw(word_series(nothing)),
        most_similar(nothing),
    ):
        assert neighbours.row.shape == (0, 20)


def test_the_vocabulary_keeps_the_words_in_most_texts():
    texts = pa.array(["a b c", "a b", "a"], pa.large_string())
    table = count_words(texts, vocabulary(texts, size=2))
    assert table.toarray().tolist() == [[1, 1], [1, 1], [1, 0]]
    with pytest.raises(BadInput, match="words"):
        vocabulary(texts, size=0)


def test_wrong_arguments_are_named():
    words = word_series(hard_pages())
    with pytest.raises(BadInput, match="lags"):
        most_correlated(words, lags=(2, 1))
    with pytest.raises(BadInput, match="band"):
        nearest_by_dtw(words, band=-1)
    with pytest.raises(BadInput, match="k, the number"):
        most_similar(hard_pages(), 0)
