"""Three ways to simulate a score function agree to the bit; trees keep their meaning."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recrawl.errors import BadInput
from recrawl.evolve.change_history import from_bits, from_contents
from recrawl.evolve.evaluate import scores
from recrawl.evolve.expression import CONSTANT, OPERATORS, TERMINAL
from recrawl.evolve.simplify import simplify
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.terminals import TERMINALS
from recrawl.evolve.text import parse, write
from recrawl.evolve.trees import Symbols, cross, random_tree, shrink, swap_node

ALL = tuple(TERMINALS)
CONSTANTS = (-3.5, 0.0, 1e-9, 0.5, 1.0, 2.0, 1e300)
SYMBOLS = Symbols(ALL, constants=CONSTANTS, functions=tuple(range(len(OPERATORS))))


@st.composite
def trees(draw, symbols=SYMBOLS, deepest=6):
    random = Random(draw(st.integers(0, 2**32)))
    return random_tree(random, symbols, draw(st.integers(1, deepest)), full=draw(st.booleans()))


def evaluate_plainly(tree, known):
    """The score of one state, evaluated node by node."""
    stack = []
    for code, value in zip(tree.code.tolist(), tree.value.tolist(), strict=True):
        if code >= TERMINAL:
            stack.append(known[tree.terminals[code - TERMINAL]])
        elif code == CONSTANT:
            stack.append(value)
        elif OPERATORS[code] in ("log", "log1", "exp"):
            stack.append(unary(OPERATORS[code], stack.pop()))
        else:
            y, x = stack.pop(), stack.pop()
            stack.append(binary(OPERATORS[code], x, y))
    [score] = stack
    return -math.inf if math.isnan(score) else score


def unary(name, x):
    if name == "exp":
        try:
            return math.exp(x)
        except OverflowError:
            return math.inf
    return 0.0 if abs(x) <= (name == "log1") else math.log(abs(x))


def binary(name, x, y):
    if name == "/":
        if abs(y) < 1e-6:
            return x if math.isnan(x) else -1e6 if x * y < 0 else 1e6
        return x / y
    if name == "^":
        try:
            return math.pow(x + 0.0, y)
        except OverflowError:
            return -math.inf if x < 0 and y % 2 == 1 else math.inf
        except ValueError:
            return math.inf if x == 0 else math.nan
    return {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y}[name]()


def plain_terminals(outcomes, last, now, days=1.0):
    """The terminals of a page from the outcomes of its visits, oldest first."""
    n, x = len(outcomes), sum(outcomes)
    weights = [2.0**i for i in range(n)]
    return {
        "n": float(n),
        "X": float(x),
        "t": float(now - last),
        "cho": math.log((n + 0.5) / (n - x + 0.5)),
        "nad": x / max(n, 1),
        "sad": float(outcomes[-1]) if outcomes else 0.0,
        "aad": sum(i + 1 for i, o in enumerate(outcomes) if o) / (max(n, 1) * (max(n, 1) + 1) / 2),
        "gad": sum(w for w, o in zip(weights, outcomes, strict=True) if o) / max(sum(weights), 1),
        "rate": (x + 0.5) / (last * days + 0.5),
    }


def simulate_plainly(contents, tree, fetches, *, warm_up, priority, explore):
    """The simulation in plain Python: picks, hits, stale copies and NDCG of each cycle."""
    pages, cycles = contents.shape[0], contents.shape[1] - 1
    outcomes, last = [[] for _ in range(pages)], [0] * pages
    for now in range(1, warm_up + 1):
        for page in range(pages):
            outcomes[page].append(bool(contents[page, last[page]] != contents[page, now]))
            last[page] = now
    for now in range(warm_up + 1, cycles + 1):
        score = [
            evaluate_plainly(tree, plain_terminals(outcomes[p], last[p], now)) for p in range(pages)
        ]
        order = sorted(range(pages), key=lambda p: (-score[p], priority[p]))
        explored = int(explore * fetches)
        picks = order[: fetches - explored]
        rest = sorted(set(range(pages)) - set(picks), key=lambda p: (last[p], priority[p]))
        picks += rest[:explored]
        differs = [bool(contents[p, last[p]] != contents[p, now]) for p in range(pages)]
        gain = [1.0, *(1 / math.log(i + 1) for i in range(2, fetches + 1))][:fetches]
        best = sum(gain[: sum(differs)])
        got = sum(g for g, p in zip(gain, picks, strict=True) if differs[p])
        for page in picks:
            outcomes[page].append(differs[page])
            last[page] = now
        stale = sum(bool(contents[p, last[p]] != contents[p, now]) for p in range(pages))
        hits = sum(differs[p] for p in picks)
        yield sorted(picks), hits, stale, (got / best if best else 1.0)


@st.composite
def worlds(draw, longest=12, most=40):
    """Contents of pages over cycles; pages may return to what they were."""
    pages, cycles = draw(st.integers(1, most)), draw(st.integers(2, longest))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    chance = random.choice([0.0, 0.05, 0.5, 1.0], (pages, 1))
    bits = random.random((pages, cycles)) < chance
    contents = np.concatenate([np.zeros((pages, 1), int), np.cumsum(bits, axis=1)], axis=1)
    flapping = draw(st.booleans())
    return (contents % 3 if flapping else contents).astype(np.uint16)


def run_both_ways(simulator, tree):
    one, other = simulator.run_states(tree, keep=True), simulator.run_pages(tree, keep=True)
    for name in ("picks", "changed", "stale", "ndcg"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    return one


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(
    contents=worlds(),
    tree=trees(),
    share=st.sampled_from([0.0, 0.05, 0.3, 0.5, 1.0]),
    warm_up=st.integers(0, 3),
    explore=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 9),
)
def test_states_pages_and_plain_python_agree(contents, tree, share, warm_up, explore, seed):
    pages, cycles = contents.shape[0], contents.shape[1] - 1
    warm_up = min(warm_up, cycles - 1)
    fetches = int(share * pages)
    simulator = Simulator(
        from_contents(contents), fetches, warm_up=warm_up, seed=seed, explore=explore, ndcg=True
    )
    run = run_both_ways(simulator, tree)
    priority = np.argsort(simulator.order)
    slow = list(
        simulate_plainly(
            contents, tree, fetches, warm_up=warm_up, priority=priority, explore=explore
        )
    )
    np.testing.assert_array_equal(run.picks, [s[0] for s in slow])
    np.testing.assert_array_equal(run.changed, [s[1] for s in slow])
    np.testing.assert_array_equal(run.stale, [s[2] for s in slow])
    np.testing.assert_allclose(run.ndcg, [s[3] for s in slow], rtol=1e-12)


CLASSIC = ["t", "t * X", "cho", *(f"1 - exp(0 - {r} * t)" for r in ("nad", "sad", "aad", "gad"))]


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), ties=st.integers(0, 9))
def test_the_classics_agree_with_plain_python(seed, ties):
    random = np.random.default_rng(seed)
    bits = random.random((60, 30)) < random.choice([0.0, 0.05, 0.3, 0.9], (60, 1))
    contents = np.concatenate([np.zeros((60, 1), int), np.cumsum(bits, axis=1)], axis=1)
    simulator = Simulator(from_bits(bits), 4, seed=ties)
    for formula in CLASSIC:
        tree = parse(formula, ALL)
        priority = np.argsort(simulator.order)
        slow = simulate_plainly(contents, tree, 4, warm_up=2, priority=priority, explore=0.0)
        expected = np.array([hits / 4 for _, hits, _, _ in slow])
        np.testing.assert_allclose(simulator.run(tree).change_ratio, expected, rtol=0, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(
    tree=trees(),
    cycles=st.sampled_from([63, 64, 65, 128, 129, 300]),
    seed=st.integers(0, 99),
    share=st.sampled_from([0.02, 0.4]),
)
def test_more_cycles_than_a_word_has_bits(tree, cycles, seed, share):
    random = np.random.default_rng(seed)
    bits = random.random((150, cycles)) < random.choice([0.0, 0.01, 0.3], (150, 1))
    run_both_ways(Simulator(from_bits(bits), int(share * 150), seed=seed, ndcg=True), tree)


def test_a_thousand_cycles():
    random = np.random.default_rng(0)
    changes = from_bits(random.random((400, 1000)) < random.uniform(0, 0.2, (400, 1)))
    run = run_both_ways(Simulator(changes, 20, ndcg=True), parse("gad * t + aad", ALL))
    assert len(run.changed) == 998
    assert 0 < run.change_ratio.mean() < 1


@settings(max_examples=200, deadline=None)
@given(tree=trees(), seed=st.integers(0, 2**32))
@example(tree=parse("0 * (1e300 * 1e300)", ALL), seed=0)
@example(tree=parse("(0 - 0) ^ (0 - 1) + n * 0", ALL), seed=0)
def test_a_simplified_tree_has_the_same_scores(tree, seed):
    random = np.random.default_rng(seed)
    rows = random.choice([0.0, 1e-7, 0.3, 1.0, 2.0, 57.0, 1e8], (len(ALL), 64))
    shorter = simplify(tree)
    np.testing.assert_array_equal(scores(shorter, rows), scores(tree, rows))
    assert len(shorter) <= len(tree)
    assert simplify(shorter) == shorter


@settings(max_examples=100, deadline=None)
@given(tree=trees(), seed=st.integers(0, 2**32))
def test_the_evaluator_agrees_with_plain_python(tree, seed):
    random = np.random.default_rng(seed)
    rows = random.choice([0.0, 0.3, 1.0, 2.0, 57.0, 1e8], (len(ALL), 16))
    expected = [
        evaluate_plainly(tree, dict(zip(ALL, column, strict=True))) for column in rows.T.tolist()
    ]
    np.testing.assert_array_equal(scores(tree, rows), expected)


@settings(max_examples=200, deadline=None)
@given(tree=trees())
def test_text_parses_back_to_the_same_tree(tree):
    assert parse(write(tree), ALL) == tree


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="nXt0123456789.+-*/^() logexpw,e\x00é²", max_size=40))
def test_any_text_is_parsed_or_an_error(text):
    try:
        tree = parse(text, ("n", "X", "t"))
    except BadInput:  # and nothing else
        return
    assert parse(write(tree), tree.terminals) == tree


@settings(max_examples=200, deadline=None)
@given(one=trees(), other=trees(), seed=st.integers(0, 2**32), deepest=st.integers(6, 9))
def test_bred_trees_are_trees_within_the_depth(one, other, seed, deepest):
    random = Random(seed)
    bred = [*cross(random, one, other, deepest)]
    bred += [swap_node(random, one, SYMBOLS), shrink(random, other, SYMBOLS)]
    for tree in bred:
        assert tree.depth() <= deepest
        assert parse(write(tree), ALL) == tree
    assert len(bred[2]) == len(one)
    assert len(bred[3]) <= len(other)


def test_nan_never_wins():
    """NaN where X > 1, and elsewhere a score below all numbers but −inf: the NaN goes last."""
    bits = np.array([[1, 1, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]], np.bool_)  # X = 2, 0, 1 at first
    tree = parse("(1.5 - X) ^ 0.5 - 1e308", ALL)
    run = run_both_ways(Simulator(from_bits(bits), 2, ties="id"), tree)
    assert run.picks[0].tolist() == [1, 2]
    always = parse("(0 - t) ^ 0.5", ALL)
    assert run_both_ways(Simulator(from_bits(bits), 2, ties="id"), always).picks[0].tolist() == [
        0,
        1,
    ]
    infinite = parse("exp(X * 1e9)", ALL)
    assert run_both_ways(Simulator(from_bits(bits), 2, ties="id"), infinite).picks[0].tolist() == [
        0,
        2,
    ]
