"""The models behind `auto` against plain versions, and the learner by its rules."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from support import add_undated_past

from recrawl.auto import hazard, learner, trees
from recrawl.auto.features import NAMES
from recrawl.auto.learner import Learner
from recrawl.auto.model import HitModel
from recrawl.auto.page_history import PageHistory
from recrawl.auto.reasons import reasons
from recrawl.checks import sample_pages
from recrawl.checks.sample import NOW, SampleHistory
from recrawl.history.intervals import PastVisits
from recrawl.model import DAY


def visits(n, seed=0, features=3):
    """Columns, offset and hits; the first two columns matter."""
    random = np.random.default_rng(seed)
    columns = random.normal(size=(features, n)).astype(np.float32)
    offset = np.log(random.gamma(2.0, 0.3, n) + 1e-3)
    log_s = offset + 0.8 * columns[0] - 0.6 * (columns[1] > 0)
    return columns, offset, random.random(n) < -np.expm1(-np.exp(log_s))


# Trees


def plain_trees(n_trees, bins, offset, hit, usable, shrink):
    """Boosting with NumPy, node by node: columns, cuts and leaves of the first trees."""
    n_cuts, log_s = trees.N_CUTS, offset.copy()
    column, cut, leaves = [], [], []
    for tree in range(n_trees):
        s = np.exp(np.clip(log_s, -30, 5))
        slope, curve = np.where(hit, s / np.expm1(s), -s), s * s / np.expm1(s)
        node = np.zeros(len(hit), int)
        for depth in range(trees.DEPTH):
            best = (0.0, 0, n_cuts - 1)
            for c in np.flatnonzero(usable[tree]):
                gains = np.zeros(n_cuts)
                for one in range(2**depth):
                    here = node == one
                    for where in range(n_cuts):
                        left = here & (bins[c] <= where)
                        right = here & (bins[c] > where)
                        if min(left.sum(), right.sum()) < trees.MIN_VISITS:
                            continue
                        gains[where] += (
                            slope[left].sum() ** 2 / (curve[left].sum() + shrink)
                            + slope[right].sum() ** 2 / (curve[right].sum() + shrink)
                            - slope[here].sum() ** 2 / (curve[here].sum() + shrink)
                        )
                if gains.max() > best[0] + 1e-9:
                    best = (gains.max(), c, int(gains.argmax()))
            column.append(best[1])
            cut.append(best[2])
            node = 2 * node + (bins[best[1]] > best[2])
        g = np.bincount(node, slope, 2**trees.DEPTH)
        h = np.bincount(node, curve, 2**trees.DEPTH) + shrink
        leaves.append(trees.LEARNING_RATE * g / h)
        log_s += leaves[-1][node]
    shape = (n_trees, trees.DEPTH)
    return np.reshape(column, shape), np.reshape(cut, shape), np.array(leaves)


@pytest.mark.slow
def test_trees_are_those_of_plain_boosting():
    columns, offset, hit = visits(240)
    bins = np.stack([np.argsort(np.argsort(c)) // 12 for c in columns]).astype(np.uint8)  # 20 bins
    usable = np.random.default_rng(1).random((trees.N_TREES, len(columns))) < 0.7
    (column, cut), leaf = trees._boost(bins, offset, hit, usable, 5.0)
    found = column, cut, leaf
    first = 4  # later ones may differ where two cuts gain the same to the last digits
    column, cut, leaf = plain_trees(first, bins, offset, hit, usable, 5.0)
    np.testing.assert_array_equal(found[0][:first], column)
    np.testing.assert_array_equal(found[1][:first], cut)
    np.testing.assert_allclose(found[2][:first], leaf, rtol=1e-9)
    assert len(set(found[0][:first].ravel().tolist())) > 1


def test_trees_predict_the_leaf_that_their_tests_lead_to():
    random = np.random.default_rng(2)
    n_trees, n = 3, 2 * trees.BLOCK + 7
    column = random.integers(0, 4, (n_trees, trees.DEPTH))
    above = random.normal(size=(n_trees, trees.DEPTH)).astype(np.float32)
    leaf = random.normal(size=(n_trees, 2**trees.DEPTH))
    columns = random.normal(size=(4, n)).astype(np.float32)
    columns[column[0, 0], :9] = above[0, 0]  # equal is not above
    found = trees.BoostedTrees(column, above, leaf).log_ratio(columns)
    for visit in (0, 1, trees.BLOCK - 1, trees.BLOCK, 2 * trees.BLOCK, n - 1):
        expected = 0.0
        for tree in range(n_trees):
            node = 0
            for depth in range(trees.DEPTH):
                right = columns[column[tree, depth], visit] > above[tree, depth]
                node = 2 * node + int(right)
            expected += leaf[tree, node]
        assert found[visit] == pytest.approx(expected)


def test_cuts_are_quantiles_and_shrinking_makes_leaves_small():
    columns, offset, hit = visits(3_000)
    made = trees.fit(columns, offset, hit, shrink=5.0, seed=3)
    assert made.column.shape == (trees.N_TREES, trees.DEPTH)
    shares = (columns[made.column.ravel()] <= made.above.ravel()[:, None]).mean(axis=1) * 64
    assert np.abs(shares - shares.round()).max() < 0.05, "63 cuts make 64 equal parts"
    assert shares.min() > 0.5
    assert shares.max() < 63.5
    small = trees.fit(columns, offset, hit, shrink=1e6, seed=3)
    assert np.abs(small.leaf).max() < 0.01 * np.abs(made.leaf).max()
    other = trees.fit(columns, offset, hit, shrink=5.0, seed=4)
    assert not np.array_equal(other.column, made.column), "the seed draws the usable columns"
    share = [len(set(tree)) for tree in trees.fit(columns[[0]], offset, hit, seed=5).column]
    assert set(share) == {1}


# The linear model


@pytest.mark.parametrize("ridge", [1.0, 50.0])
def test_the_linear_model_is_the_minimum_of_its_loss(ridge):
    columns, offset, hit = visits(2_000, features=4)
    columns[3] = 7.0  # constant: left out
    columns[2, 0] = 1e6  # clipped at 8 deviations
    found = hazard.fit(columns, offset, hit, ridge=ridge)
    mean, deviation = columns.mean(axis=1, dtype=float), columns.std(axis=1, dtype=float)
    z = np.clip((columns - mean[:, None]) / np.maximum(deviation, 1e-9)[:, None], -8, 8)[:3]

    def loss(weight):
        s = np.exp(weight[0] + weight[1:] @ z + offset)
        each = np.where(hit, -np.log(-np.expm1(-s)), s)
        return each.sum() + 0.05 * weight[0] ** 2 + ridge / 2 * (weight[1:] ** 2).sum()

    best = minimize(loss, np.zeros(4), method="BFGS")
    weight = np.r_[found.intercept, found.weight[:3]]
    assert loss(weight) == pytest.approx(best.fun, abs=1e-3)
    np.testing.assert_allclose(weight, best.x, atol=3e-3)
    assert found.weight[3] == 0.0
    np.testing.assert_allclose(found.log_ratio(columns), weight[0] + weight[1:] @ z, atol=1e-4)


def test_loss_by_hand():
    """A hit of s = 1 costs −ln(1 − e^−1), none costs s."""
    found = hazard.log_loss(np.array([0.0, 0.0, np.log(2)]), np.array([True, False, False]))
    assert found == pytest.approx([-np.log(1 - np.exp(-1)), 1.0, 2.0])


# The learner


def examples(columns, offset, hit):
    n = len(hit)
    seen = PastVisits(np.arange(n), np.ones(n), np.ones(n), hit * 1.0, np.full(n, np.nan))
    return SimpleNamespace(visits=seen, columns=columns, offset=offset)


def with_hits(n_hits, n=200):
    columns, offset, _ = visits(n)
    return examples(columns, offset, np.arange(n) < n_hits)


def test_enough_hits_are_needed_to_train():
    one = Learner()
    one.add(with_hits(9))
    one.train()
    assert (one.version, one.linear, one.log_ratio(with_hits(1).columns)) == (0, None, None)
    one.add(with_hits(1))
    one.train()
    assert one.version == 1
    assert one.linear is not None
    assert one.trees is None, "trees need 50 hits"


@pytest.mark.slow
def test_training_again_takes_15_percent_more_hits():
    one = Learner()
    one.add(with_hits(100))
    one.train()
    assert (one.n_hits_trained, one.version) == (100, 1)
    assert one.trees is not None
    one.add(with_hits(14))
    one.train()
    assert one.n_hits_trained == 100
    one.add(with_hits(1))
    one.train()
    assert one.n_hits_trained == 115
    one.forget_visits()
    assert (one.n_hits, one.n_hits_trained, one.days) == (0, 0, [])
    assert one.linear is not None


def test_prediction_is_the_mean_of_both_models():
    columns, offset, hit = visits(2_000)
    one = Learner(seed=4)
    one.add(examples(columns, offset, hit))
    one.train()
    linear = hazard.fit(columns, offset, hit, ridge=50.0)
    boosted = trees.fit(columns, offset, hit, shrink=5.0, seed=4)
    expected = (linear.log_ratio(columns) + boosted.log_ratio(columns)) / 2
    np.testing.assert_allclose(one.log_ratio(columns), expected, rtol=1e-9)


def test_a_new_model_may_be_worse_by_two_standard_errors():
    """Without hits a visit costs s. The old model says 1 each, the new one 1 + `more`."""

    def is_worse(*more):
        column = np.log1p([more]).astype(np.float32)
        one, zero = np.ones(1), np.zeros(1)
        new, old = hazard.Hazard(zero, one, one, 0.0), hazard.Hazard(zero, one, zero, 0.0)
        n = len(more)
        return learner._is_worse((new, None), (old, None), column, np.zeros(n), np.zeros(n, bool))

    # The sum against 2 · √4 · σ: 2.4 against 1.7, and 3.1 against 5.1
    assert is_worse(1.0, 1.0, 0.4, 0.0)
    assert not is_worse(2.0, -0.9, 2.0, 0.0)
    assert not is_worse(0.0, 0.0, 0.0, 0.0)
    assert not is_worse(-0.5, -0.4, -0.5, -0.5)


def test_a_sample_keeps_the_order_of_visits():
    arrays = [np.arange(40.0).reshape(2, 20), np.arange(20.0), np.arange(20) % 3 == 0]
    assert learner._sample(arrays, 20, 0) is arrays
    columns, offset, hit = learner._sample(arrays, 8, 0)
    assert len(offset) == 8
    assert (np.diff(offset) > 0).all()
    np.testing.assert_array_equal(columns, np.stack([offset, offset + 20]))
    np.testing.assert_array_equal(hit, offset % 3 == 0)
    assert not np.array_equal(learner._sample(arrays, 8, 1)[1], offset)


def test_many_visits_are_thinned(monkeypatch):
    monkeypatch.setattr(learner, "MAX_VISITS_A_DAY", 30)
    monkeypatch.setattr(learner, "MAX_VISITS", 100)
    one = Learner()
    sizes = []
    for _ in range(5):
        one.add(with_hits(20, 40))
        sizes.append(sum(len(day[-1]) for day in one.days))
    assert sizes == [30, 60, 90, 50, 80]
    assert one.n_hits == 100, "all hits count, kept or not"


# What is known of a page


def test_the_past_of_a_page_as_columns():
    own = PageHistory.empty(np.array([2.0, 0.0]))
    page, end = np.zeros(3, np.int64), np.array([3.0, 5.0, 6.0])
    days, size, events = np.array([1.0, 2, 1]), np.array([4.0, 0, 2]), np.array([1.5, 0, 1])
    add_undated_past(own, page, end, days, size, events)
    assert own.events[0] == 2.5
    assert own.hit_days[0] == 1.0
    assert own.slow[0] == pytest.approx(np.exp(-3 / 20) + 1)
    since, streak, fast, slow, more = own.columns(
        np.arange(2), np.array([8.0, 8.0]), np.array([0.1, 0.2])
    )
    fast_hits, slow_hits = np.exp(-5 / 5) + np.exp(-2 / 5), np.exp(-5 / 20) + np.exp(-2 / 20)
    assert since == pytest.approx([np.log(3), np.log(1 + 8 + 30)])
    assert streak.tolist() == [1, 0]
    assert fast == pytest.approx(np.log([fast_hits + 0.1, 0.1]))
    assert slow == pytest.approx(np.log([slow_hits + 0.1, 0.1]))
    assert more == pytest.approx(np.log([(slow_hits + 0.02) / 2.02, 0.02 / 4.02]))


def test_a_streak_ends_with_the_other_outcome():
    own = PageHistory.empty(np.zeros(1))
    streaks = []
    for hit in (0, 0, 1, 1, 0, *[1] * 8):
        one = np.ones(1)
        add_undated_past(own, np.zeros(1, np.int64), own.last + 1, one, one * hit, one * hit)
        streaks.append(own.streak[0])
    assert streaks == [-1, -2, 1, 2, -1, 1, 2, 3, 4, 5, 6, 6, 6]


@pytest.fixture
def model():
    """A model that knows the first two of three pages, with what it learned set by hand."""
    pages = replace(
        sample_pages(n=30).take(np.array([1, 3, 5])),
        last_visit=np.full(3, NOW - 2 * DAY),
        n_changes=np.array([7, 3, 1]),
        exposure=np.array([10.0, 10.0, 20.0]),
    )
    made = HitModel()
    made.state.key = np.sort(pages.key[:2])
    made.state.rate = np.where(made.state.key == pages.key[0], 0.5, 0.25)
    made.log_ratio = np.where(made.state.key == pages.key[0], np.log(2.0), 0.0)
    made.state.history = PageHistory.empty(np.zeros(2))
    of_first = made.state.key == pages.key[0]
    made.state.history.n_hits = np.where(of_first, 4.0, 0.0)
    made.state.history.log_size = np.where(of_first, 4 * np.log(3.0), 0.0)
    return made, pages


def test_hits_due_are_rate_times_ratio_times_days(model):
    """Unknown: mean (11 + 1) / (40 + 100); page (1 + ½) / (20 + ½ / mean); all for 2 days."""
    made, pages = model
    unknown = 1.5 / (20 + 0.5 / (12 / 140))
    assert made.hits_due(pages, NOW) == pytest.approx([2.0, 0.5, 2 * unknown])


def test_optimism_falls_with_the_hits(model):
    made, pages = model
    expected = 1 + 4 / np.sqrt(np.array([4.5, 0.5, 1.5]))
    assert made.optimism(pages) == pytest.approx(expected)
    made.state.event = "links"
    assert made.optimism(pages)[2] == pytest.approx(1 + 4 / np.sqrt(0.5))


def test_the_size_of_a_hit_is_drawn_to_that_of_all(model):
    """All: ln 3. The first (4 ln 3 + ln 3) / 5, the others ln 3; so all are 3."""
    made, pages = model
    assert made.hit_size(pages) == pytest.approx([3, 3, 3])
    made.state.history.log_size = made.state.history.log_size * 0 + np.log(16.0)
    made.state.history.n_hits = made.state.history.n_hits * 0 + [1.0, 1.0]
    assert made.hit_size(pages) == pytest.approx([16, 16, 16])
    made.state.history.n_hits = made.state.history.n_hits * [3.0, 1.0]
    # ln 256 over 4 hits is ln 4; then (ln 16 + ln 4) / 4 and / 2
    found = sorted(made.hit_size(pages)[:2])
    assert found == pytest.approx([64**0.25, 8])
    assert made.hit_size(pages)[2] == pytest.approx(4)


def test_pages_unknown_for_links_have_the_mean_rate(model):
    made, pages = model
    made.state.event = "links"
    made.state.history.events, made.state.history.days = (
        np.array([2.0, 1.0]),
        np.array([60.0, 40.0]),
    )
    assert made.hits_due(pages, NOW)[2] == pytest.approx(2 * (3 + 1) / (100 + 100))


@pytest.fixture(scope="module")
def learned():
    """A model of pages that it has seen, with too few hits to train."""
    pages = sample_pages(n=60)
    pages = pages.take(np.flatnonzero(pages.n_changes <= 1)[:12])
    made = HitModel()
    made.learn(SampleHistory(pages), pages, NOW)
    return made, pages


def test_before_it_is_trained_the_days_of_the_directory_decide(learned):
    made, _ = learned
    assert made.learner.linear is None
    expected = made.state.columns[NAMES.index("days of directory")]
    np.testing.assert_allclose(made.log_ratio, expected, atol=1e-6)
    assert np.abs(made.log_ratio).max() < np.log(1e3)


def test_the_strongest_reason_comes_first(learned):
    """Factors e^−1 by what the copy looks like, e^0.2 by its past; others are none."""
    made, pages = learned
    weight = np.zeros(len(NAMES))
    weight[NAMES.index("length")], weight[NAMES.index("streak")] = -1.0, 0.2
    zero, one = np.zeros(len(NAMES)), np.ones(len(NAMES))
    made.learner.linear = hazard.Hazard(zero, one, weight, 0.0)
    made.state.columns[:] = 1.0
    _, first, second = reasons(made, pages, 3)
    assert first == "what our copy and its URL look like: × 0.37"
    assert second == "how lately it changed: × 1.2"
