"""The baselines as the thesis's program computes them, selections and tests by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from recrawl.evolve.change_history import from_bits
from recrawl.evolve.presets import PRESETS
from recrawl.evolve.selection import ValidatedTree, select_tree
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.text import parse
from recrawl.papers.santos.baselines import CODE_WEIGHTS, CycleRecord, code_ratio, random_ratio
from recrawl.papers.santos.experiment import (
    CODE_SELECTIONS,
    ThesisProtocol,
    select_by_code,
    simulator,
)
from recrawl.papers.santos.tables import _tests, same_choices, significant_days

BASIC = ("n", "X", "t")
TOY = ("111111", "101010", "000000", "001000", "010101", "000011")
BITS = np.array([[day == "1" for day in page] for page in TOY])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NAD (code)", [1, 0.5, 1, 1]),
        ("SAD (code)", [0.5, 1, 1, 0.5]),
        ("AAD (code)", [0.5, 1, 1, 0.5]),
        ("GAD (code)", [0.5, 1, 1, 0.5]),
    ],
)
def test_the_toy(name, found):
    """Pages 0 to 5 of the toy, warm-up 2, two fetches a cycle, ties to the first page.

    SAD (code), for one: cycle 3 takes pages 0 and 4 (changed in cycle 2), of which 0 changes.
    Cycle 4 takes 0 (changed in 3) and of the pages with 0 the first, 1, which changed in cycle 3.
    Cycle 5 takes 0 and 1: both changed. So does cycle 6, in which only 0 changes.
    """
    assert code_ratio(Simulator(from_bits(BITS), 2, ties="id"), name).tolist() == found


def rates_in(record, now):
    weighed = {name: weights(record, now) for name, weights in CODE_WEIGHTS.items()}
    return {name: float(seen[0] / total) for name, (seen, total) in weighed.items()}


def test_the_rates_of_one_page():
    """Visited in cycles 1, 2 and 4, with changes in 1 and 4; then it is cycle 5, or 6."""
    record = CycleRecord.empty(1)
    for cycle, changed in ((1, True), (2, False), (3, None), (4, True)):
        rows = np.array([], np.int64) if changed is None else np.array([0])
        record.add(rows, np.array([changed] if len(rows) else [], np.bool_), cycle)
    rates = rates_in(record, 5)
    assert rates["NAD (code)"] == 2 / 4
    assert rates["SAD (code)"] == 1.0
    assert rates["AAD (code)"] == (1 + 4) / (1 + 2 + 3 + 4)
    assert rates["GAD (code)"] == pytest.approx((1 + 8) / (2**4 - 1))
    record.add(np.array([], np.int64), np.array([], np.bool_), 5)
    rates = rates_in(record, 6)
    assert rates["SAD (code)"] == 0.0
    assert rates["AAD (code)"] == 5 / 15
    assert rates["GAD (code)"] == pytest.approx((1 + 8) / (2**5 - 1))


def test_nad_of_the_program_ranks_like_t_times_x():
    random = np.random.default_rng(2)
    changes = from_bits(random.random((300, 25)) < random.choice([0.0, 0.2, 0.8], (300, 1)))
    world = Simulator(changes, 15)
    known = world.run(parse("t * X", BASIC)).change_ratio
    np.testing.assert_array_equal(code_ratio(world, "NAD (code)"), known)


def test_random_fetches():
    """All pages change daily: every fetch finds a change. None changes: none does."""
    ones = Simulator(from_bits(np.ones((40, 9), np.bool_)), 4)
    assert random_ratio(ones).tolist() == [1.0] * 7
    none = Simulator(from_bits(np.zeros((40, 9), np.bool_)), 4)
    assert random_ratio(none).tolist() == [0.0] * 7


def test_the_protocol_of_the_thesis():
    """Section 4.3: five folds, 5 % of the pages a day, two days of warm-up; 4.4: five seeds."""
    assert ThesisProtocol() == ThesisProtocol(5, (111, 222, 333, 444, 555), PRESETS["thesis"])
    world = simulator(from_bits(np.ones((110, 9), np.bool_)), np.arange(100))
    assert (world.fetches, world.warm_up) == (5, 2)


def tree(formula, train, validation):
    columns = np.array(train), np.array(validation)
    return ValidatedTree(parse(formula, BASIC), *columns, worth=float(columns[0].mean()))


#: Means (train, validation) and σ over all four cycles, by hand:
#: steady (.5, .5), σ 0 · wild (.9, .7), σ = √((.04 + 0 + 0 + .04) / 4) = .1414
#: mild (.7, .62), around .66: σ = √((.0016 + .0016 + .0016 + .0016) / 4) = .04
STEADY = tree("X", [0.5, 0.5], [0.5, 0.5])
WILD = tree("t * X", [1.0, 0.8], [0.8, 0.6])
MILD = tree("t + X", [0.7, 0.7], [0.62, 0.62])


def test_selections_by_hand():
    """Sum_σ: 1, 1.6 − .1414 = 1.4586, 1.32 − .04 = 1.28. Avg_σ: .5, .8 − .1414 = .6586, .62.

    With σ = √Σ(x − m)², twice as large for four cycles: Sum 1, 1.3172, 1.24; Avg .5, .5172, .58.
    """
    trees = [STEADY, MILD, WILD]
    assert STEADY.spread == 0
    assert pytest.approx(0.02**0.5) == WILD.spread
    assert pytest.approx(0.04) == MILD.spread
    assert select_tree(trees, "best") is WILD
    assert select_tree(trees, "sum") is WILD
    assert select_tree(trees, "avg") is WILD
    by_sum, by_avg = CODE_SELECTIONS["GP4C sum (code)"], CODE_SELECTIONS["GP4C avg (code)"]
    assert select_by_code(trees, by_sum) is WILD
    assert select_by_code(trees, by_avg) is MILD
    even = tree("n", [0.7, 0.7], [0.7, 0.7])
    assert select_by_code([even, WILD], by_sum) is even  # 1.4 > 1.3172


def test_avg_is_not_sum():
    """Sum_σ: 1.6 − .1414 beats 1.36 − .02; Avg_σ: .8 − .1414 = .6586 loses to .68 − .02 = .66."""
    calm = tree("n", [0.7, 0.7], [0.66, 0.66])
    assert calm.spread == pytest.approx(0.02)
    assert select_tree([WILD, calm], "sum") is WILD
    assert select_tree([WILD, calm], "avg") is calm
    longer = tree("n + 0", [0.7, 0.7], [0.66, 0.66])
    assert select_tree([longer, calm], "avg") is calm  # of equals the shorter


def test_days_that_are_surely_better_or_worse():
    """Three folds. Day 1: gaps of .1, .1 and .11: sure. Day 2: the same, negative. Day 3: +, −, 0: not sure."""
    theirs = np.full((3, 3), 0.5)
    gaps = np.array([[0.1, -0.1, 0.13], [0.1, -0.1, -0.1], [0.11, -0.11, 0.0]])
    assert significant_days(theirs + gaps, theirs) == ([1], [2])
    daily = {"CG": theirs, "GP4C best": theirs + gaps, "GP4C sum": theirs}
    results = SimpleNamespace(
        daily=daily, chosen={"GP4C best": [WILD, MILD, WILD], "GP4C sum": [WILD, WILD, MILD]}
    )
    lines = list(_tests(results))
    assert lines[-1].startswith("| CG | 50 / 1 | 0 / 1 (2) | +0.0033 ")
    assert not any("GP4C sum" in line for line in lines)
    assert same_choices(results, "GP4C sum") == 1
