"""Breeding by known answers: what given draws make of given trees, and who wins."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from recrawl.evolve.change_history import from_bits
from recrawl.evolve.expression import DIV, EXP, LOG, MUL, POW, SUB
from recrawl.evolve.fitness import Fitness
from recrawl.evolve.fitness_cache import FitnessCache, ScoredTree
from recrawl.evolve.generations import Breeder, achievement, best, evolve, ranked
from recrawl.evolve.presets import PRESETS, Preset
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.text import parse, write
from recrawl.evolve.trees import (
    Symbols,
    cross,
    draw_node,
    ramped_trees,
    random_tree,
    shrink,
    swap_node,
)

NAMES = ("n", "X", "t")
SYMBOLS = Symbols(NAMES)
#: In postfix order n X * t +, so node 2 is the product and node 4 the sum.
SUM = parse("n * X + t", NAMES)
#: n log 1 −: node 1 is the logarithm, node 3 the difference.
DIFFERENCE = parse("log(n) - 1", NAMES)


class Draws(Random):
    """Gives the draws listed, in their order; `left` are those not yet drawn."""

    def __init__(self, *draws):
        super().__init__(0)
        self.left = list(draws)

    def random(self):
        return self.left.pop(0)

    def randrange(self, stop):
        assert 0 <= self.left[0] < stop
        return self.left.pop(0)

    def choice(self, options):
        assert self.left[0] in options
        return self.left.pop(0)

    def uniform(self, low, high):
        assert low <= self.left[0] <= high
        return self.left.pop(0)


def text(tree):
    return write(tree)


def same(formula):
    return text(parse(formula, NAMES))


# Trees


def test_crossing_swaps_the_drawn_subtrees():
    draws = Draws(2, 1)
    children = cross(draws, SUM, DIFFERENCE, 17)
    assert list(map(text, children)) == [same("log(n) + t"), same("n * X - 1")]
    assert not draws.left


@pytest.mark.parametrize(
    ("deepest", "second"), [(4, "(n * X + t) - 1"), (3, "log(n) - 1"), (2, "log(n) - 1")]
)
def test_a_child_that_is_too_deep_is_its_parent(deepest, second):
    """The sum, 3 deep, in place of the logarithm on level 2 makes 4 levels."""
    children = cross(Draws(4, 1), SUM, DIFFERENCE, deepest)
    assert list(map(text, children)) == [same("log(n)"), same(second)]


def test_the_first_child_too_may_be_too_deep():
    children = cross(Draws(1, 4), DIFFERENCE, SUM, 3)
    assert list(map(text, children)) == [same("log(n) - 1"), same("log(n)")]


def test_nodes_are_drawn_until_one_is_a_function_ten_times_at_most():
    draws = Draws(0, 3, 2, 4)
    assert draw_node(draws, SUM) == 2
    assert draws.left == [4]
    draws = Draws(*[0] * 9, 1, 2)
    assert draw_node(draws, SUM) == 1
    assert draws.left == [2]


def test_a_function_is_swapped_for_another_with_as_many_arguments():
    assert text(swap_node(Draws(2, SUB), SUM, SYMBOLS)) == same("(n - X) + t")
    assert text(swap_node(Draws(2, MUL, MUL, POW), SUM, SYMBOLS)) == same("n ^ X + t")
    assert text(swap_node(Draws(1, EXP), DIFFERENCE, SYMBOLS)) == same("exp(n) - 1")
    with pytest.raises(AssertionError):  # not among the candidates
        swap_node(Draws(1, DIV), DIFFERENCE, SYMBOLS)
    with pytest.raises(AssertionError):
        swap_node(Draws(2, LOG), SUM, SYMBOLS)


def test_a_leaf_is_swapped_for_a_leaf():
    assert text(swap_node(Draws(*[0] * 10, 2), SUM, SYMBOLS)) == same("t * X + t")
    assert text(swap_node(Draws(*[2] * 10, 3), DIFFERENCE, SYMBOLS)) == same("log(n) - 0.001")
    other_constant = swap_node(Draws(*[2] * 10, 7, 8), DIFFERENCE, SYMBOLS)  # 1 again, then e
    assert text(other_constant) == same("log(n) - 2.718281828459045")


def test_five_draws_of_the_same_node_leave_the_tree_as_it_is():
    draws = Draws(2, *[MUL] * 5, SUB)
    swapped = swap_node(draws, SUM, SYMBOLS)
    assert text(swapped) == text(SUM)
    assert draws.left == [SUB]
    assert text(SUM) == same("n * X + t"), "the parent is not changed"


def test_shrinking_replaces_a_function_and_all_below_it():
    assert text(shrink(Draws(2, 0), SUM, SYMBOLS)) == same("t + t")
    assert text(shrink(Draws(1, 1), SUM, SYMBOLS)) == "X"
    assert text(shrink(Draws(5, 0), DIFFERENCE, SYMBOLS)) == same("0.1 - 1")
    leaf = parse("n", NAMES)
    assert shrink(Draws(), leaf, SYMBOLS) is leaf


def test_leaves_are_terminals_then_constants_then_reals():
    def leaf(symbols, *draws):
        node, constant = symbols.leaf(Draws(*draws))
        return NAMES[node - 16] if node >= 16 else constant

    assert [leaf(SYMBOLS, at) for at in (0, 2, 3, 11)] == ["n", "t", 0.001, 1000.0]
    with pytest.raises(AssertionError):
        leaf(SYMBOLS, 12)
    some = replace(SYMBOLS, real=0.3)
    assert leaf(some, 0.29, 1.0) == 10.0
    assert leaf(some, 0.29, 0.5) == 3.16, "three digits"
    assert leaf(some, 0.3, 1) == "X"


def test_random_trees_grow_by_their_draws():
    """A function (the root always), a branch if below one half, a leaf at the last level."""
    grown = random_tree(Draws(MUL, 0.5, 0, 0.49, SUB, 1, 2), SYMBOLS, 3, full=False)
    assert text(grown) == same("n * (X - t)")
    full = random_tree(Draws(MUL, LOG, 0, EXP, 1), SYMBOLS, 3, full=True)
    assert text(full) == same("log(n) * exp(X)")


def test_the_first_trees_are_ramped_half_and_half():
    trees = ramped_trees(Random(3), SYMBOLS, 60, 4)
    ramp = [2, 2, 3, 3, 4, 4] * 10
    depth = [tree.depth() for tree in trees]
    assert depth[::2] == ramp[::2], "every second one is full"
    assert all(2 <= made <= most for made, most in zip(depth[1::2], ramp[1::2], strict=True))
    assert depth[1::2] != ramp[1::2]


# Selection


def scored(formula, *points, worth=None):
    tree = parse(formula, NAMES)
    points = np.array(points)[:, None]
    worth = float(points[0, 0]) if worth is None else worth
    return ScoredTree(tree, tree, formula.encode(), points, worth)


def breeder(random, preset, cache=None):
    return Breeder(random, SYMBOLS, preset, cache)


POOR, FAIR, GOOD = scored("n", 0.1), scored("X", 0.5), scored("t", 0.9)
LONG = scored("t + 0", 0.9)


def test_the_best_wins_the_tournament():
    thesis = breeder(Draws(0, 2), PRESETS["thesis"])
    assert thesis._winners([POOR, FAIR, GOOD]) == [GOOD, POOR]
    three = breeder(Draws(1, 0, 2, 2), replace(PRESETS["thesis"], tournament=3))
    assert three._winners([POOR, FAIR, GOOD]) == [GOOD, FAIR, POOR]
    assert three.random.left == [2], "three draws"
    assert breeder(Draws(0, 1), Preset())._winners([LONG, GOOD]) == [GOOD, LONG], "the shorter"


def test_parents_come_from_one_tournament_or_from_two():
    trees = [POOR, FAIR, GOOD]
    thesis = breeder(Draws(1, 2), PRESETS["thesis"])
    assert list(map(text, thesis._parents(trees))) == ["t", "X"]
    assert not thesis.random.left
    apart = breeder(Draws(0, 1, 2, 0), replace(Preset(), independent=True))
    assert list(map(text, apart._parents(trees))) == ["X", "t"]


def test_draws_decide_between_a_random_tree_two_children_and_a_copy():
    trees = [scored("n * X + t", 0.1), scored("log(n) - 1", 0.9), GOOD]

    def bred(*draws):
        return list(map(text, breeder(Draws(*draws), PRESETS["thesis"])._breed(trees)))

    assert bred(0.149, MUL, 0.5, 0, 0.5, 1) == [same("n * X")]
    assert bred(0.15, 0.899, 1, 0, 1, 2) == [same("(n * X) - 1"), same("log(n) + t")]
    assert bred(0.15, 0.9, 0, 2) == ["t"], "the winner of a tournament"


def test_draws_decide_whether_a_child_is_changed():
    def mutated(*draws):
        made = breeder(Draws(*draws), PRESETS["thesis"])._mutate(SUM)
        return text(made)

    assert mutated(0.05, 0.05) == text(SUM)
    assert mutated(0.049, 2, SUB, 0.05) == same("(n - X) + t")
    assert mutated(0.05, 0.049, 2, 0) == same("t + t")


def test_random_trees_have_all_depths_in_turn():
    made = breeder(Random(1), replace(Preset(), created_depth=6))
    made.symbols = replace(SYMBOLS, functions=(LOG,))
    asked = []
    for _ in range(6):
        deepest = max(made_tree.depth() for made_tree in repeat_create(made, 60))
        asked.append(deepest)
    assert asked == [3, 4, 5, 6, 2, 3]


def repeat_create(made, times):
    """Trees of one depth: the count goes on by one, however many are drawn."""
    count = made.created
    for _ in range(times):
        made.created = count
        yield made._create()


def test_best_trees_differ_in_form_and_the_shortest_of_equals_comes_first():
    again = scored("t", 0.9)
    assert best([POOR, LONG, GOOD, FAIR, again], 3) == [again, LONG, FAIR]
    assert best([POOR, FAIR, GOOD], 9) == [GOOD, FAIR, POOR]


def test_with_two_measures_worth_is_minus_the_number_that_beat_it():
    trees = [scored("n", 3.0, 1.0), scored("X", 1.0, 3.0), scored("t", 1.0, 1.0)]
    twin = scored("n + t", 3.0, 1.0)
    found = [tree.worth for tree in ranked([*trees, twin])]
    assert found == [0, 0, -3, 0], "equals do not beat each other"
    assert ranked([GOOD, POOR]) == [GOOD, POOR]


def test_the_achievement_of_two_measures_is_the_area_under_their_front():
    """(3, 1), (2, 2), (1, 3): 1 · 1 + 1 · 2 + 1 · 3; the beaten tree adds nothing."""
    trees = [scored(f"n + {x}", x, y) for x, y in ((2.0, 2.0), (3.0, 1.0), (1.0, 3.0), (1.0, 1.0))]
    assert achievement(trees) == 6.0
    assert achievement([GOOD, POOR]) == 0.9


# Generations


@pytest.fixture(scope="module")
def planted():
    """Pages change always or never, as `bytes · seconds − size · depth` says, and no part of it."""
    random = np.random.default_rng(1)
    a, b, c, d = random.uniform(0.1, 1.0, (4, 400))
    worth = a * b - c * d
    changes = np.repeat((worth > np.quantile(worth, 0.85))[:, None], 4, axis=1)
    columns = {
        name: np.repeat(column[:, None], 5, axis=1)
        for name, column in zip(("bytes", "seconds", "size", "depth"), (a, b, c, d), strict=True)
    }
    return Simulator(from_bits(changes), 60, columns=columns)


LEAVES = ("bytes", "seconds", "size", "depth")
SMALL = replace(PRESETS["thesis"], individuals=60, generations=12, kept=5)


def test_the_elite_stays_and_the_generation_is_full(planted):
    cache = FitnessCache(planted, [Fitness()])
    symbols = Symbols(LEAVES)
    made = Breeder(Random(0), symbols, replace(SMALL, individuals=20, elite=3), cache)
    trees = made.first()
    assert len(trees) == 20
    new = made.next(trees)
    assert new[:3] == best(trees, 3)
    assert len(new) == 20
    worst = min(tree.worth for tree in trees)
    assert worst < new[2].worth


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_selection_beats_random_search_of_the_same_cost(planted, name):
    small = replace(PRESETS[name], individuals=60, generations=12, kept=5, known=(), patience=None)
    bred, drawn = [], []
    for seed in range(3):
        run = evolve(planted, LEAVES, [Fitness()], small, seed=seed)
        bred.append(run.kept[0].fitness)
        cache = FitnessCache(planted, [Fitness()])
        symbols, random = Symbols(LEAVES, small.constants, real=small.real), Random(seed)
        fitness = 0.0
        while cache.simulated < run.simulated:
            for tree in ramped_trees(random, symbols, 10, small.created_depth):
                fitness = max(fitness, cache.score(tree).fitness)
        drawn.append(fitness)
    assert np.mean(bred) > np.mean(drawn) + 0.03, (bred, drawn)


@pytest.mark.slow
def test_operators_come_as_often_as_they_should():
    """10,000 children each; a share of p is off by less than 4 √(p (1 − p) / 10,000)."""
    preset, times = PRESETS["thesis"], 10_000
    made = breeder(Random(5), preset)
    trees = [scored("n * X + t", 0.1), scored("log(n) - 1", 0.9), scored("exp(X) / t", 0.5)]
    forms = {text(tree.expression) for tree in trees}
    kinds = Counter()
    for _ in range(times):
        before = made.created
        children = list(made._breed(trees))
        if made.created > before:
            kinds["created"] += 1
        else:
            kinds["crossed" if len(children) == 2 else "copied"] += 1
            assert len(children) == 2 or text(children[0]) in forms
    expected = {"created": 0.15, "crossed": 0.85 * 0.9, "copied": 0.85 * 0.1}
    for _ in range(times):
        changed = made._mutate(SUM)
        if len(changed) < len(SUM):
            kinds["shrunk"] += 1
        elif text(changed) != text(SUM):
            kinds["swapped"] += 1
    expected |= {"shrunk": 0.05, "swapped": 0.95 * 0.05}
    for kind, share in expected.items():
        error = 4 * np.sqrt(share * (1 - share) / times)
        assert kinds[kind] / times == pytest.approx(share, abs=error), kind


@pytest.mark.slow
def test_the_better_tree_wins_three_tournaments_of_four():
    """Of two trees and two draws, the worse wins only if it is drawn twice."""
    made = breeder(Random(6), PRESETS["thesis"])
    wins = sum(made._winners([POOR, GOOD])[0] is GOOD for _ in range(10_000))
    assert wins / 10_000 == pytest.approx(0.75, abs=0.02)
