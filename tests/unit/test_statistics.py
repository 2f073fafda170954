"""Differences, their intervals and p-values, where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import lfilter

from recrawl.errors import BadInput
from recrawl.lab.statistics import fold_test, holm, paired_difference


def test_identical_series_do_not_differ() -> None:
    series = np.random.default_rng(1).random(50)
    for found in (paired_difference(series, series), fold_test(series, series)):
        assert (found.mean, found.low, found.high, found.p, found.effect) == (0, 0, 0, 1, 0)


def test_constant_difference_is_certain() -> None:
    series = np.random.default_rng(1).random(50)
    for found in (paired_difference(series + 0.5, series), fold_test(series + 0.5, series)):
        assert [found.mean, found.low, found.high] == pytest.approx([0.5, 0.5, 0.5])
        assert found.p < 0.001
        assert found.effect == math.inf


def test_swapping_the_two_changes_the_sign_only() -> None:
    ours, theirs = np.random.default_rng(2).random((2, 60))
    one, other = paired_difference(ours, theirs), paired_difference(theirs, ours)
    assert one.mean == pytest.approx(-other.mean)
    assert one.low == pytest.approx(-other.high, abs=0.01)
    assert one.p == other.p
    assert one.effect == pytest.approx(-other.effect)


def test_same_seed_same_answer() -> None:
    ours, theirs = np.random.default_rng(3).random((2, 60))
    assert paired_difference(ours, theirs, seed=4) == paired_difference(ours, theirs, seed=4)
    assert paired_difference(ours, theirs, seed=4) != paired_difference(ours, theirs, seed=5)


def test_independent_days_agree_with_t() -> None:
    ours, theirs = np.random.default_rng(4).normal([[0.15], [0]], size=(2, 300))
    found, known = paired_difference(ours, theirs, block=1), stats.ttest_rel(ours, theirs)
    assert [found.low, found.high] == pytest.approx(list(known.confidence_interval()), abs=0.02)
    assert found.p == pytest.approx(known.pvalue, abs=0.02)


def _coverage(block: int, times: int = 300, days: int = 200) -> float:
    """How often the interval holds the true difference, 0.3, under AR(1) noise."""
    rng = np.random.default_rng(5)
    noise = lfilter([1], [1, -0.5], rng.normal(size=(times, days + 50)), axis=1)[:, 50:]
    held = [
        found.low <= 0.3 <= found.high
        for found in (
            paired_difference(0.3 + row, np.zeros(days), block=block, draws=400) for row in noise
        )
    ]
    return float(np.mean(held))


def test_blocks_cover_where_single_days_do_not() -> None:
    assert 0.87 <= _coverage(block=7) <= 0.98
    assert _coverage(block=1) < 0.82


def test_folds_agree_with_scipy() -> None:
    ours, theirs = np.random.default_rng(6).normal(size=(2, 8))
    found, known = fold_test(ours, theirs), stats.ttest_rel(ours, theirs)
    assert found.p == pytest.approx(known.pvalue)
    assert [found.low, found.high] == pytest.approx(list(known.confidence_interval()))
    assert found.effect == pytest.approx(known.statistic / math.sqrt(8))


def test_holm_as_in_the_textbook() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_order_and_never_lowers(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(before <= after <= 1 for before, after in zip(p, adjusted, strict=True))
    assert all(
        adjusted[i] <= adjusted[j] for i in range(len(p)) for j in range(len(p)) if p[i] < p[j]
    )


@pytest.mark.parametrize("days", [2, 3, 5, 8])
def test_few_days_still_have_an_interval(days: int) -> None:
    gap = np.arange(days, dtype=float)
    found = paired_difference(gap, np.zeros(days))
    assert found.low < found.mean < found.high


@pytest.mark.parametrize("test", [paired_difference, fold_test])
def test_bad_input_is_named(test: object) -> None:
    assert callable(test)
    with pytest.raises(BadInput, match=r"at least 2 .* Got 1"):
        test(np.ones(1), np.ones(1))
    with pytest.raises(BadInput, match=r"same .* Got \(3,\) and \(2,\)"):
        test(np.ones(3), np.ones(2))
    with pytest.raises(BadInput, match="finite"):
        test(np.array([1.0, np.nan]), np.ones(2))


def test_bad_options_are_named() -> None:
    with pytest.raises(BadInput, match="block and draws"):
        paired_difference(np.ones(3), np.ones(3), block=0)
    with pytest.raises(BadInput, match="probabilities"):
        holm([0.5, float("nan")])
