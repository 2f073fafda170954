"""The protocol (§7) and the learners (§5) by hand: what is fitted on which days, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recrawl.lab.trace import read_trace
from recrawl.model import DAY, Neighbours
from recrawl.papers.radinsky import algorithms, experiment, pooled
from recrawl.papers.radinsky import data as data_module
from recrawl.papers.radinsky.algorithms import (
    FeatureProducts,
    Setup,
    SlidingSvm,
    adaboost,
    bagging,
    change_frequency,
    feature_products,
    relational_union,
    single_expert,
    weighted_vote,
)
from recrawl.papers.radinsky.data import (
    ExperimentData,
    PredictionProtocol,
    choose_targets,
    passing_pages,
    prepare,
)
from recrawl.papers.radinsky.experiment import TargetExperts
from recrawl.papers.radinsky.features import page_days, page_features, relation_features
from recrawl.papers.radinsky.learners.svm import fit_svm, polynomial, train_for_day
from recrawl.papers.radinsky.pooled import boosted_probability, pooled_boosting
from recrawl.papers.radinsky.series.days import changes_by_day, days_of, versions_by_day
from recrawl.papers.radinsky.series.snapshots import Snapshots, count_words, vocabulary

# Which days are used


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_training_days_are_the_last_n_whose_outcome_is_known(ahead):
    """No training day is predicted from a change after the day of the prediction."""
    day, n = 20, 8
    label = np.arange(30) % 3 % 2 * 1.0
    everything = (np.eye(30), np.ones(30, bool), label)
    _, _, rows, y = train_for_day(*everything, day, n, ahead, np.ones(30))
    assert rows.tolist() == list(range(day - n + 1, day - ahead + 1))
    assert max(rows) + ahead == day  # the last change used is that of the day itself
    np.testing.assert_array_equal(y, np.where(label[rows + ahead] > 0, 1, -1))
    early = train_for_day(*everything, 4, n, ahead, np.ones(30))[2]
    assert early.tolist() == list(range(4 - ahead + 1))


def test_days_without_features_label_or_cost_are_not_trained_on():
    known, label, cost = np.ones(12, bool), np.arange(12) % 2 * 1.0, np.ones(12)
    known[3], label[6], cost[8] = False, np.nan, 0.0
    rows = train_for_day(np.eye(12), known, label, 10, 10, 1, cost)[2]
    assert rows.tolist() == [1, 2, 4, 6, 7, 9]  # the change of day 6 would be day 5's label


def test_a_decision_is_that_of_the_svm_of_its_training_days():
    random = np.random.default_rng(0)
    x = random.normal(size=(30, 3))
    kernel, cost = polynomial(x @ x.T, 3.0), random.uniform(0.5, 2, 30)
    label = (random.random(30) < 0.5).astype(float)
    value, fitted, rows, y = train_for_day(kernel, np.ones(30, bool), label, 25, 12, 1, cost)
    weight, threshold, decision = fit_svm(kernel[np.ix_(rows, rows)], y, cost[rows])
    assert value == pytest.approx(kernel[25, rows] @ weight - threshold)
    np.testing.assert_array_equal(fitted, decision)


def texts_and_bits(seed=0, days=60, pages=4):
    """Pages whose texts change at random; they share words."""
    random = np.random.default_rng(seed)
    bits = (random.random((pages, days)) < 0.4).astype(float)
    bits[:, 0] = np.nan
    texts = []
    for row in bits:
        text, mine = "", []
        for day, bit in enumerate(row):
            if not day or bit:
                text = " ".join(random.choice(list("abcdefgh"), 6)) + f" n{day}"
            mine.append(text)
        texts.append(mine)
    return texts, bits


def snapshots_of(texts, column=None):
    flat = pa.array([text for page in texts for text in page], pa.large_string())
    column = vocabulary(flat) if column is None else column
    return Snapshots(count_words(flat, column), np.arange(len(flat)).reshape(len(texts), -1))


SETUP = Setup(np.arange(40, 59), 30)
#: No word is new after the first prediction: the vocabulary is another test's concern.
LETTERS = vocabulary(pa.array(["a b c d e f g h"], pa.large_string()))


def pages_of(texts, bits):
    snapshots = snapshots_of(texts, LETTERS)
    return [page_days(snapshots, i, row) for i, row in enumerate(bits)]


def changed_later(texts, bits, day):
    """The same pages up to a day; other texts and changes after it."""
    other_texts, other_bits = texts_and_bits(seed=9)
    texts = [old[: day + 1] + new[day + 1 :] for old, new in zip(texts, other_texts, strict=True)]
    return texts, np.concatenate([bits[:, : day + 1], other_bits[:, day + 1 :]], axis=1)


def test_scale_and_cost_are_fitted_before_the_first_prediction():
    """Other texts and changes after the first prediction leave scale, cost and decision alone."""
    texts, bits = texts_and_bits()
    first = int(SETUP.days[0])
    fits = []
    for later_texts, later_bits in ((texts, bits), changed_later(texts, bits, first)):
        target, expert, *_ = pages_of(later_texts, later_bits)
        products = feature_products(target, expert, SETUP)
        svm = SlidingSvm.of(products, later_bits[0], SETUP)
        fits.append((products.products[: first + 1, : first + 1], svm.cost, svm.decisions()[0]))
        for learner in (bagging, adaboost):
            fits[-1] += (learner(products, later_bits[0], SETUP)[0],)
    for one, other in zip(*fits, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (texts, bits.tolist()) != changed_later(texts, bits, first)


def test_days_up_to_the_first_prediction_do_matter():
    """The leak tests above can fail: the day of the first prediction itself is used."""
    texts, bits = texts_and_bits()
    first = int(SETUP.days[0])
    results = []
    for later_texts, later_bits in ((texts, bits), changed_later(texts, bits, first - 3)):
        target, expert, *_ = pages_of(later_texts, later_bits)
        results.append(feature_products(target, expert, SETUP).products[: first - 2, : first - 2])
    assert not np.array_equal(*results)


def test_features_are_standardised_on_the_days_before_the_first_prediction():
    texts, bits = texts_and_bits()
    target, expert, *_ = pages_of(texts, bits)
    products = feature_products(target, expert, SETUP)
    features = np.column_stack([page_features(expert), relation_features(target, expert)])
    known = np.isfinite(features).all(axis=1)
    past = known & (np.arange(60) <= SETUP.days[0])
    features = np.where(known[:, None], features, 0.0)
    scaled = features - features[past].mean(axis=0)
    deviation = features[past].std(axis=0)
    scaled = np.divide(scaled, deviation, out=np.zeros_like(scaled), where=deviation > 1e-12)
    words = np.zeros((60, 8))
    for day, text in enumerate(texts[1]):
        tokens = [token for token in text.split() if token in "abcdefgh"]
        words[day] = [tokens.count(letter) / len(tokens) for letter in "abcdefgh"]
    words = words - words[past].mean(axis=0)
    words /= np.sqrt((words[past] ** 2).sum(axis=1).mean())
    expected = scaled @ scaled.T + words @ words.T
    expected[~known] = expected[:, ~known] = 0.0
    np.testing.assert_allclose(products.products, expected, atol=1e-6)
    assert products.n_features == features.shape[1] + 1  # all words count as one
    without = feature_products(target, expert, SETUP, with_words=False)
    expected = scaled @ scaled.T
    expected[~known] = expected[:, ~known] = 0.0
    np.testing.assert_allclose(without.products, expected, atol=1e-9)
    assert without.n_features == features.shape[1]
    np.testing.assert_array_equal(products.known, known)


def test_the_cost_is_the_best_on_the_last_third_of_the_days_before():
    texts, bits = texts_and_bits(seed=4)
    for number in range(4):
        page = pages_of(texts, bits)[number]
        products = feature_products(page, None, SETUP)
        kernel = polynomial(products.products, products.n_features)
        n_right = {}
        for cost in (0.1, 1.0, 10.0):
            days = range(30, 40)  # n / 3 = 10 days whose outcome is known on day 40
            decisions = [
                train_for_day(kernel, products.known, bits[number], day, 30, 1, np.full(60, cost))[
                    0
                ]
                for day in days
            ]
            right = [
                (d > 0) == (bits[number, t + 1] > 0) for d, t in zip(decisions, days, strict=True)
            ]
            n_right[cost] = sum(right)
        best = min(cost for cost, n in n_right.items() if n == max(n_right.values()))
        assert SlidingSvm.of(products, bits[number], SETUP).cost == best


def test_truth_is_the_last_days_of_the_trace(tmp_path):
    trace = small_trace(tmp_path)
    given = PredictionProtocol(alpha=0.0, n=6, k=2, days=5, detector="digest")
    for ahead in (1, 2):
        data = prepare(trace, replace(given, ahead=ahead))
        days = changes_by_day(trace, versions_by_day(trace, 20), "digest")
        np.testing.assert_array_equal(data.truth, days[:, -5:])
        np.testing.assert_array_equal(data.changed, days[data.page][:, -data.changed.shape[1] :])
        assert (data.n_passing, data.n_present) == (4, 4)
        # The first prediction is made on the day `ahead` before the first day predicted.
        assert data.changed.shape[1] - data.setup.first == 5 - 1 + ahead


# The data: days, changes, the filter


def small_trace(folder, texts=None, links=lambda page, day: []):
    """Pages by day: `texts` or four that change every 1, 2, 3 and 20 days, for 20 days."""
    texts = texts or {
        f"{every:02}": [f"red blue green w{day // every}" for day in range(20)]
        for every in (1, 2, 3, 20)
    }
    rows = [
        (f"https://x.org/{page}", day, 410 if text is None else 200, text or "")
        for page, by_day in texts.items()
        for day, text in enumerate(by_day)
    ]
    url, day, status, text = zip(*rows, strict=True)
    table = {
        "url": url,
        "valid_from": pa.array([d * 86_400 + 3_600 for d in day], pa.timestamp("s", tz="UTC")),
        "status": status,
        "text": text,
        "links": pa.array([links(row[0][14:], row[1]) for row in rows], pa.list_(pa.string())),
    }
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(table), folder / "versions.parquet")
    return read_trace(folder, window=(0.0, 20 * DAY))


def test_links_count_on_the_day_of_the_first_prediction(tmp_path):
    """Of 20 days the last 5 are predicted, so the first prediction is made on day 14."""
    there = {14: "02", 13: "03", 15: "20"}

    def links(page, day):
        return [f"https://x.org/{there.get(day, '01')}"] if page == "01" else []

    trace = small_trace(tmp_path, links=links)
    given = PredictionProtocol(alpha=0.0, n=6, k=3, days=5, detector="digest")
    data = prepare(trace, given)
    linked = [data.page[row[row >= 0]].tolist() for row in data.related["graph"].row]
    assert linked == [[1], [0], [], []]  # in either direction


def test_the_paper_s_four_ways_to_choose_experts(tmp_path):
    """Of a target that changes every second day; another has its words, and one its rhythm."""
    every = [f"red w{day // 2}" for day in range(20)]
    texts = {
        "link": [f"sky v{day}" for day in range(20)],
        "rhythm": [f"w{day // 2} cold winter night frost" for day in range(20)],
        "target": [f"{text} blue green gold" for text in every],
        "words": ["red blue green gold"] * 20,
    }
    trace = small_trace(
        tmp_path, texts, lambda page, day: ["https://x.org/target"] * (page == "link")
    )
    data = prepare(trace, PredictionProtocol(alpha=0.0, n=10, k=1, days=5, detector="digest"))
    chosen = {name: data.page[near.row[2, 0]] for name, near in data.related.items()}
    assert chosen == {"graph": 0, "content": 3, "correlation": 1, "warping": 3}
    assert data.related["graph"].weight[2, 0] == 1.0
    # "red blue green gold" and the same with one word more: 4 / √(4 · 5).
    assert data.related["content"].weight[2, 0] == pytest.approx(4 / math.sqrt(20))


def test_changes_by_day_by_hand(tmp_path):
    """The first day is unknown; a page that comes back is compared with what it was before."""
    texts = {
        "back": ["a", None, None, "a", "b", *["b"] * 15],
        "late": [None, None, "a", "b", "b", "c", *["c"] * 14],
        "other": ["a", "b", None, "a", None, "a", *["a"] * 14],
    }
    trace = small_trace(tmp_path, texts)
    assert days_of(trace) == 20
    changed = changes_by_day(trace, versions_by_day(trace, 20), "digest")[:, :6]
    nan = np.nan
    expected = [[nan, nan, nan, 0, 1, 0], [nan, nan, nan, 1, 0, 1], [nan, 1, nan, 1, nan, 0]]
    np.testing.assert_array_equal(changed, expected)


def test_significant_changes_are_those_of_the_detector(tmp_path):
    """By chi-squared: other words are a change, one word more among a hundred is not."""
    much, more = "word " * 60 + "thing " * 40, "word " * 60 + "thing " * 40 + "new"
    trace = small_trace(tmp_path, {"a": [much, more, "other " * 100, *["other " * 100] * 17]})
    changed = changes_by_day(trace, versions_by_day(trace, 20), "chi-squared")
    assert changed[0, 1:4].tolist() == [0, 1, 0]


def test_the_filter_by_hand(tmp_path):
    """Flips from day to day of 19 known days, so of 18 pairs: 0, 18, 12 and 0 or so.

    A page that changes every second day flips on every day; one that changes every third day has
    the bits 0 0 1 0 0 1 …, which flip on two of three days; one that changes daily never flips.
    """
    trace = small_trace(tmp_path)
    version = versions_by_day(trace, 20)
    bits = changes_by_day(trace, version, "digest")
    flips = [sum(a != b for a, b in pairwise(row[1:])) / 18 for row in bits]
    assert flips == [0.0, 1.0, 12 / 18, 0.0]
    given = PredictionProtocol(n=6, days=5, detector="digest")
    for alpha, passing in ((0.3, [1, 2]), (12 / 18, [1, 2]), (0.67, [1]), (1.0, [1])):
        assert passing_pages(trace, version, replace(given, alpha=alpha)).tolist() == passing
    targets, n_passing = choose_targets(trace, version, replace(given, alpha=0.3, pages=9))
    assert (targets.tolist(), n_passing) == ([1, 2], 2)
    assert choose_targets(trace, version, replace(given, alpha=0.0))[1] == 4
    drawn = [
        tuple(choose_targets(trace, version, replace(given, alpha=0.0, pages=2, seed=s))[0])
        for s in range(9)
    ]
    assert all(len(set(pair)) == 2 and pair[0] < pair[1] for pair in drawn)
    assert len(set(drawn)) > 1


def test_a_page_gone_before_the_days_used_is_no_target(tmp_path):
    texts = {"gone": ["a", "b", *[None] * 18], "here": ["a"] * 20, "there": ["b"] * 20}
    trace = small_trace(tmp_path, texts)
    given = PredictionProtocol(alpha=0.0, n=6, days=5, detector="digest")
    assert choose_targets(trace, versions_by_day(trace, 20), given)[0].tolist() == [1, 2]
    longer = replace(given, n=14, days=5)
    assert choose_targets(trace, versions_by_day(trace, 20), longer)[0].tolist() == [0, 1, 2]


def test_idf_by_hand():
    """ln(pages / pages whose last copy has the word): of 4 pages 4, 2, 1, and 0 for an old word."""
    texts = [["a b old", "a b"], ["a b", "a b"], ["a", "a c c"], ["a", "a"]]
    flat = pa.array(["a", "b", "c", "old"], pa.large_string())
    column = vocabulary(pa.array([text for page in texts for text in page], pa.large_string()))
    place = [int(count_words(flat.slice(i, 1), column).indices[0]) for i in range(4)]
    idf = snapshots_of(texts, column).idf()[place]
    np.testing.assert_allclose(idf, [0.0, math.log(2), math.log(4), 0.0])


# The learners


def hand_made(label, n_days):
    """An SVM whose kernel is constant: it predicts the label with the higher cost in all."""
    kernel, known = np.zeros((n_days, n_days)), np.ones(n_days, bool)
    return SlidingSvm(kernel, known, label, Setup(np.array([n_days - 1]), n_days), 1.0)


def test_one_round_of_adaboost_by_hand(monkeypatch):
    """Four of five examples have no change, so the first model says no change and errs on one.

    ε = 1/5, α = ½ ln 4 = ln 2. Right examples are multiplied by e^−α = 1/2, the wrong one by 2;
    the sum is then 4 · 1/2 + 2 = 4, and at mean 1 they weigh 5/8 and 5/2.
    """
    label = np.array([np.nan, 0, 0, 1, 0, 0])
    costs = []

    def recorded(*arguments):
        costs.append(arguments[-1].copy())
        return train_for_day(*arguments)

    monkeypatch.setattr(algorithms, "train_for_day", recorded)
    for n_models, n_rounds in ((1, 1), (2, 2)):
        costs.clear()
        monkeypatch.setattr(algorithms, "N_MODELS", n_models)
        total = algorithms._adaboost(hand_made(label, 6), 5)
        assert len(costs) == n_rounds
        assert costs[0].tolist() == [1.0] * 6
        if n_models == 1:
            assert total == pytest.approx(-math.log(2))
    np.testing.assert_allclose(costs[1][:5], [0.625, 0.625, 2.5, 0.625, 0.625])


def plain_adaboost(kernel, label, day, n, cost, rounds=10):
    """Freund & Schapire; the cost of an example is its weight, at mean 1."""
    rows = np.arange(day - n + 1, day)
    y = np.where(label[rows + 1] > 0, 1.0, -1.0)
    weight, total = np.ones(len(rows)), 0.0
    for i in range(rounds):
        inner = np.ascontiguousarray(kernel[np.ix_(rows, rows)])
        svm, threshold, fitted = fit_svm(inner, y, weight * cost)
        value = kernel[day, rows] @ svm - threshold
        said = np.where(fitted > 0, 1.0, -1.0)
        error = weight[said != y].sum() / len(rows)
        if error >= 0.5:
            return value if i == 0 else total
        alpha = 0.5 * np.log((1 - error) / max(error, 1e-10))
        total += alpha * (1.0 if value > 0 else -1.0)
        if error == 0:
            return total
        weight = weight * np.exp(-alpha * y * said)
        weight *= len(rows) / weight.sum()
    return total


def test_adaboost_equals_the_plain_one():
    texts, bits = texts_and_bits(seed=7)
    rounds = []
    for number, page in enumerate(pages_of(texts, bits)):
        products = feature_products(page, None, SETUP)
        svm = SlidingSvm.of(products, bits[number], SETUP)
        plain = [plain_adaboost(svm.kernel, bits[number], day, 30, svm.cost) for day in SETUP.days]
        rounds += plain
        same = np.isclose(adaboost(products, bits[number], SETUP), plain, rtol=1e-6)
        assert same.mean() > 0.85  # a weight that differs by rounding may turn one model
    assert len({round(abs(value), 6) for value in rounds}) > 20  # not all end in the first round


def test_a_bootstrap_draws_training_days_with_replacement(monkeypatch):
    """Each model of each day has its own draw, of training days only, as many as there are."""
    texts, bits = texts_and_bits()
    products = feature_products(pages_of(texts, bits)[0], None, SETUP)
    weights, votes = [], []
    decisions = SlidingSvm.decisions

    def recorded(self, weight=None):
        values = decisions(self, weight)
        if weight is not None:
            weights.append(weight)
            votes.append(values > 0)
        return values

    monkeypatch.setattr(SlidingSvm, "decisions", recorded)
    for ahead in (1, 3):
        weights.clear()
        votes.clear()
        setup = replace(SETUP, ahead=ahead, days=np.arange(40, 56))
        share = bagging(products, bits[0], setup)
        np.testing.assert_allclose(share, np.mean(votes, axis=0) - 0.5)
        assert len(weights) == 10
        for at, day in enumerate(setup.days):
            drawn = np.array([weight[at] for weight in weights])
            inside = np.zeros(60, bool)
            inside[day - 30 + 1 : day - ahead + 1] = True
            assert (drawn[:, ~inside] == 0).all()
            assert (drawn.sum(axis=1) == inside.sum()).all()
            assert len({tuple(row) for row in drawn}) == 10
        every = np.array(weights)
        distinct = (every > 0).sum() / every.sum()
        assert distinct == pytest.approx(1 - 1 / math.e, abs=0.02)  # of draws with replacement
        hit = every.sum(axis=0)[0, 40 - 29 : 40 - ahead + 1]
        assert (hit > 0).mean() > 0.95  # no training day is left out


@pytest.mark.parametrize("minority", [1.0, -1.0])
def test_an_svm_that_cannot_tell_examples_apart_says_what_most_are(minority):
    """All margins but the minority's are met at ±1, so the threshold is there, at any cost."""
    y = np.full(5, -minority)
    y[2] = minority
    for cost in (0.5, 2.0):
        weight, threshold, decision = fit_svm(np.zeros((5, 5)), y, np.full(5, cost))
        np.testing.assert_allclose(decision, -minority)
        assert threshold == minority
        assert weight[2] == minority * cost
        assert weight.sum() == 0.0


def test_an_svm_of_two_examples_by_hand():
    """Kernel 2 and 0: the weight a minimises 2a² − 2a, so 1/2, or the cost if that is less."""
    y, kernel = np.array([1.0, -1.0]), np.eye(2) * 2
    for cost, a in ((9.0, 0.5), (0.5, 0.5), (0.2, 0.2)):
        weight, threshold, decision = fit_svm(kernel, y, np.full(2, cost))
        np.testing.assert_allclose(weight, [a, -a])
        assert threshold == pytest.approx(0.0)
        np.testing.assert_allclose(decision, [2 * a, -2 * a])


def test_a_page_that_never_changes_has_known_features():
    counts = count_words(pa.array(["a b", "b c"], pa.large_string()), LETTERS)
    snapshots = Snapshots(counts, np.array([[0] * 5, [1] * 5]))  # one copy on all days
    page = [page_days(snapshots, row, np.array([np.nan, 0, 0, 0, 0])) for row in (0, 1)]
    np.testing.assert_array_equal(page_features(page[0])[2:], np.zeros((3, 4)))
    assert np.isnan(page_features(page[0])[:2]).any(axis=1).all()  # f4 needs three days
    # "a b" and "b c" share one word of two; nothing moves.
    expected = np.tile([0.5, 0.5, 0.0, 0.0], (4, 1))
    np.testing.assert_allclose(relation_features(*page)[1:], expected)


def test_features_of_every_day_by_hand():
    """Window 1: f3 is how far the words moved since the day before, f4 how far the day before."""
    (page,) = pages_of([["a", "b", "b", "c c a", "c"]], np.array([[np.nan, 1, 0, 1, 1]]))
    root = math.sqrt
    moved = [np.nan, root(2), 0.0, root(1 + 4 / 9 + 1 / 9), root(2 / 9)]
    before = [np.nan, np.nan, *moved[1:4]]
    bits = [np.nan, 1, 0, 1, 1]
    expected = np.column_stack([bits, moved, before, bits])
    np.testing.assert_allclose(page_features(page), expected)


def test_votes_by_hand():
    """Weights 1, 0.5 and 0.25; the third expert does not know the second day."""
    decision = np.array([[1.0, -1, 0, np.nan], [-2, 3, -1, np.nan], [0.1, np.nan, 2, np.nan]])
    share = weighted_vote(decision, np.array([1.0, 0.5, 0.25]))
    np.testing.assert_allclose(share, [1.25 / 1.75, 0.5 / 1.5, 0.25 / 1.75, 0.0])


def test_the_change_frequency_by_hand():
    label = np.array([1.0, np.nan, 0, 1, 1, 0, 0])
    setup = Setup(np.array([0, 1, 3, 5]), 3)
    np.testing.assert_allclose(change_frequency(label, setup), [1, 1, 1 / 2, 2 / 3])
    assert change_frequency(np.full(7, np.nan), setup).tolist() == [0, 0, 0, 0]


def test_the_union_adds_up_products_and_features():
    one = FeatureProducts(np.array([[1.0, 2], [2, 3]]), 4.0, np.array([True, False]))
    other = FeatureProducts(np.array([[5.0, 0], [0, 7]]), 9.0, np.array([True, True]))
    union = relational_union([one, other])
    assert union.products.tolist() == [[6, 2], [2, 10]]
    assert union.n_features == 13.0
    assert union.known.tolist() == [True, False]  # as the target


def test_experts_vote_with_the_target_itself_at_weight_1(tmp_path):
    trace = small_trace(tmp_path)
    given = PredictionProtocol(alpha=0.0, n=6, k=2, days=5, detector="digest")
    data = prepare(trace, given)
    page = TargetExperts(data, 1)
    near = data.related["content"]
    for k in (1, 2):
        rows, weight = page.experts("content", k)
        assert rows == [page.row, *near.row[1, :k]]
        assert weight.tolist() == [1.0, *near.weight[1, :k]]
    decisions = np.array([page.decisions(row, data.setup) for row in rows])
    expected = weighted_vote(decisions, weight) - 0.5
    np.testing.assert_array_equal(page.vote("content", 2, data.setup), expected)
    own = single_expert(feature_products(data.days(1), None, data.setup), page.label, data.setup)
    np.testing.assert_array_equal(decisions[0], own)


@pytest.mark.parametrize("figures", [False, True])
def test_what_is_predicted_for_a_target(tmp_path, monkeypatch, figures):
    """Each method by its own call; training sizes for which there are too few days are left out."""
    for module in (data_module, experiment):
        monkeypatch.setattr(module, "TRAINING_SIZES", (4, 6, 9, 99))
        monkeypatch.setattr(module, "EXPERT_COUNTS", (1, 3))
    texts = {
        str(every): [f"red blue green w{day // every} v{day % 5}" for day in range(20)]
        for every in (2, 3, 4, 5)
    }
    given = PredictionProtocol(
        alpha=0.0, n=6, k=2, days=5, detector="digest", figures=figures, seed=5
    )
    data = prepare(small_trace(tmp_path, texts), given)
    out = experiment._predict(data, range(1, 3), given)
    setup, page = data.setup, TargetExperts(data, 2)
    union = relational_union([page.features(e) for e in page.experts("correlation", 2)[0]])
    expected = {
        "1D": change_frequency(page.label, setup) - 0.5,
        "2D": page.decisions(page.row, setup),
        "union": single_expert(union, page.label, setup),
        "bagging": bagging(union, page.label, setup, seed=5),
        "boosting": adaboost(union, page.label, setup),
    }
    without = feature_products(page.days, None, setup, with_words=False)
    expected["2D without f2"] = single_expert(without, page.label, setup)
    for selection in ("graph", "content", "correlation", "warping"):
        expected[selection] = page.vote(selection, 2, setup)
    if figures:
        expected |= {f"k={k}": page.vote("correlation", k, setup) for k in (1, 3)}
        for n in (4, 6, 9):
            other = replace(setup, n=n)
            expected[f"n={n} 1D"] = change_frequency(page.label, other) - 0.5
            expected[f"n={n} 2D"] = page.decisions(page.row, other)
            expected[f"n={n} 3D"] = page.vote("correlation", 2, other)
        assert data.related["correlation"].row.shape[1] == 3  # enough for all numbers of experts
    assert set(out) == set(expected)
    for name, decisions in expected.items():
        assert out[name].shape == (2, 5)
        np.testing.assert_array_equal(out[name][1], decisions, err_msg=name)


# One boosting for all pages


def pooled_data(texts, bits):
    snapshots = snapshots_of(texts, LETTERS)
    related = Neighbours(np.array([[1, 2], [0, -1], [3, 0], [-1, -1]]), np.ones((4, 2)) / 2)
    data = ExperimentData(
        np.arange(4), np.arange(4), snapshots, bits, {"correlation": related}, SETUP, 4, 4
    )
    return data, related


def test_the_boosting_is_trained_on_earlier_days_only(monkeypatch):
    """Other texts and changes after a training day do not move the prediction of that day."""
    texts, bits = texts_and_bits()
    monkeypatch.setattr(pooled, "RETRAIN_DAYS", 8)
    before = pooled_boosting(*pooled_data(texts, bits))
    for at in (0, 8, 16):
        later = changed_later(texts, bits, int(SETUP.days[at]))
        after = pooled_boosting(*pooled_data(*later))
        np.testing.assert_array_equal(after[:, : at + 1], before[:, : at + 1])
        assert not np.array_equal(after[:, at + 1 :], before[:, at + 1 :])


def test_the_examples_of_the_boosting_by_hand(monkeypatch):
    texts, bits = texts_and_bits()
    seen = []

    def recorded(examples, yes, rows):
        seen.append((examples, yes, rows))
        return boosted_probability(examples, yes, rows)

    monkeypatch.setattr(pooled, "boosted_probability", recorded)
    data, related = pooled_data(texts, bits)
    out = pooled_boosting(data, related)
    assert [len(rows) for _, _, rows in seen] == [4 * 10, 4 * 9]  # every 10 days, of 19
    examples, yes, rows = seen[0]
    past = np.arange(40 - 30 + 1, 40)  # the change of day 40 is the last that is known
    np.testing.assert_array_equal(yes, (bits[:, past + 1] > 0).ravel())
    assert len(examples) == 4 * len(past)
    a, b, c, d = (data.days(row) for row in range(4))
    for table, days, size in ((examples, past, len(past)), (rows, np.arange(40, 50), 10)):
        first = table[:size]
        np.testing.assert_array_equal(first[:, :4], page_features(a)[days])
        frequency = [np.nanmean(bits[0, max(day - 29, 0) : day + 1]) for day in days]
        np.testing.assert_allclose(first[:, 4], frequency)
        experts = [
            np.column_stack([page_features(e), relation_features(a, e)])[days] for e in (b, c)
        ]
        np.testing.assert_allclose(first[:, 5:], np.mean(experts, axis=0))
        assert np.isnan(table[3 * size :, 5:]).all()  # the last page has no expert
    assert d.changed.tolist() != a.changed.tolist()
    p = boosted_probability(examples, yes, rows)
    np.testing.assert_allclose(out[:, :10], p.reshape(4, 10) - 0.5)


def test_the_mean_of_experts_is_weighted_and_skips_the_unknown():
    experts = [np.array([[1.0, np.nan], [2, 4]]), np.array([[3.0, np.nan], [np.nan, 8]])]
    mean = pooled._weighted_mean(experts, np.array([3.0, 1.0]), (2, 2))
    np.testing.assert_allclose(mean, [[6 / 4, np.nan], [2, 20 / 4]])


def test_labels_are_not_weighted_by_their_class():
    """Without a signal the probability is the share of changes, not a half."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(4_000, 2)).round(1)
    yes = random.random(4_000) < 0.1
    assert boosted_probability(rows, yes, rows[:200]).mean() == pytest.approx(0.1, abs=0.03)
    assert boosted_probability(rows[:3], yes[:3] | True, rows[:1])[0] == 3.5 / 4
