"""Breeding score functions: deterministic, never worse, and confirmed by replays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recrawl.checks import sample_pages
from recrawl.checks.sample import NOW
from recrawl.errors import BadInput, UnknownPart
from recrawl.evolve.change_history import from_bits
from recrawl.evolve.fitness import Fitness, parse_fitness
from recrawl.evolve.fitness_cache import FitnessCache, draw_probes
from recrawl.evolve.formula_file import Formula, save_formula
from recrawl.evolve.generations import evolve
from recrawl.evolve.presets import PRESETS, preset
from recrawl.evolve.selection import ValidatedTree, pareto_front, select_tree
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.split import split_folds
from recrawl.evolve.terminals import TERMINALS
from recrawl.evolve.text import parse, write
from recrawl.lab.bits import read_bits
from recrawl.lab.changes import changes_of
from recrawl.lab.learn import PARETO, learn
from recrawl.lab.replay import replay
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write as write_world
from recrawl.model import Budget
from recrawl.registry import make

BASIC = ("n", "X", "t")
ALL = tuple(TERMINALS)
RATIO = (Fitness(),)
SMALL = {name: replace(p, individuals=40, generations=6) for name, p in PRESETS.items()}


@pytest.fixture(scope="module")
def world():
    bits = make("world", "brdc").make(pages=800, days=30, seed=3).bits() == 1
    return Simulator(from_bits(bits), 40)


@pytest.mark.parametrize("name", SMALL)
def test_the_same_seed_gives_the_same_trees(world, name):
    runs = [evolve(world, BASIC, RATIO, SMALL[name], seed=seed) for seed in (1, 1, 2)]
    formulas = [[write(tree.simple) for tree in run.kept] for run in runs]
    assert formulas[0] == formulas[1] != formulas[2]
    np.testing.assert_array_equal(runs[0].history, runs[1].history)


@pytest.mark.parametrize("name", SMALL)
def test_the_best_never_gets_worse_and_beats_chance(world, name):
    run = evolve(world, BASIC, RATIO, SMALL[name], seed=4)
    best = run.history[:, 0]
    if name == "thesis":  # with parsimony a shorter tree may replace a better one
        assert (np.diff(best) >= 0).all()
    assert run.kept[0].fitness > world.run(parse("t", BASIC)).change_ratio.mean()
    for tree in run.kept:  # reported numbers come from a simulation of the tree itself
        assert world.run(tree.simple).change_ratio.mean() == tree.fitness
    assert run.simulated < 40 * 7 + 50


def test_it_stops_when_nothing_gets_better(world):
    still = Simulator(from_bits(np.zeros((50, 9), np.bool_)), 5)
    run = evolve(still, BASIC, RATIO, replace(SMALL["modern"], generations=30, patience=3))
    assert len(run.history) <= 8
    assert run.kept[0].fitness == 0.0


def test_the_kept_trees_of_two_measures_are_a_pareto_front(world):
    run = evolve(world, BASIC, PARETO, SMALL["modern"], seed=2)
    points = np.array([tree.points for tree in run.kept])
    assert (np.diff(points[:, 0]) < 0).all()
    assert (np.diff(points[:, 1]) > 0).all()
    assert pareto_front(np.array([[1.0, 1.0], [1.0, 1.0]])) in ([0], [1])


def test_trees_that_rank_alike_are_simulated_once(world):
    cache = FitnessCache(world, RATIO)
    for formula in ("t * X", "X * t", "X * t + 5", "2 * (t * X) - 3", "exp(t * X / 100)"):
        cache.score(parse(formula, BASIC))
    assert cache.simulated == 1
    cache.score(parse("t * X + 0.001 * n", BASIC))
    assert cache.simulated == 2


def test_a_tree_costs_its_size(world):
    """By the nodes of its simple form."""
    cache = FitnessCache(world, RATIO, parsimony=0.01)
    for formula, nodes in (("X", 1), ("X * t", 3), ("X * t + 0", 3), ("X * t / n", 5)):
        tree = cache.score(parse(formula, BASIC))
        assert tree.worth == pytest.approx(tree.fitness - 0.01 * nodes)


def test_probes_are_states_that_pages_may_reach():
    """A page has at most one visit a cycle and one change a visit, from the warm-up on."""
    simulator = Simulator(from_bits(np.ones((9, 200), np.bool_)), 1, warm_up=3)
    n, x, t = (draw_probes(simulator)[name] for name in BASIC)
    last = 200 - t
    assert (n >= 3).all()
    assert ((x >= 0) & (x <= n)).all()
    assert ((last >= n) & (last <= 199)).all()
    assert (last == n).any()  # visited in every cycle
    assert (n == 3).mean() == 0.25  # in the warm-up only; more would tell trees apart badly


def test_selection():
    def tree(formula, train, validation):
        columns = np.array(train), np.array(validation)
        return ValidatedTree(parse(formula, BASIC), *columns, worth=float(columns[0].mean()))

    wild = tree("t + 1", [1.0, 0.8], [0.0, 0.2])
    steady = tree("X", [0.5, 0.5], [0.5, 0.5])
    long = tree("X + 1", [0.5, 0.5], [0.5, 0.5])
    assert select_tree([long, wild, steady], "best") is wild
    assert select_tree([wild, long, steady], "sum") is steady
    assert select_tree([wild, long, steady], "avg") is steady
    assert (
        select_tree([wild, long, steady], "simple") is steady
    )  # as good within chance, and shorter
    always = tree("X * t", [0.9, 0.8], [0.9, 0.8])
    assert select_tree([steady, always], "simple") is always
    # σ of the text: over all cycles of both parts, divided by their number.
    assert wild.spread == pytest.approx(np.std([1.0, 0.8, 0.0, 0.2]))


def test_the_first_generation_holds_the_known_formulas(world):
    none = replace(PRESETS["modern"], individuals=5, generations=0)
    kept = evolve(world, (*BASIC, "rate"), RATIO, none).kept
    assert {"t", "X * t", "t * rate"} <= {write(tree.simple) for tree in kept}
    kept = evolve(world, ("t", "rate"), RATIO, none).kept
    assert {write(tree.simple) for tree in kept} == {"t", "t * rate"}


def test_an_evolved_policy_copes_with_unknown_sizes(tmp_path):
    save_formula(
        Formula(parse("t / bytes + exp(1e9 * rate)", (*ALL, "bytes"))), tmp_path / "policy.json"
    )
    pages = sample_pages()
    score = make("policy", str(tmp_path / "policy.json")).score(pages, NOW)
    assert np.isfinite(score).all()
    assert np.isnan(pages.bytes).any()


def test_the_path_of_a_policy_file_may_hold_colons(tmp_path):
    file = tmp_path / "2026-01-01T10:00.json"
    save_formula(Formula(parse("t * X", ALL)), file)
    assert make("policy", str(file)).file == str(file)


def test_folds_partition_the_pages():
    for seed in (None, 3):
        tests = []
        for split in split_folds(103, 5, seed=seed):
            parts = [split.train, split.validation, split.test]
            assert sorted(np.concatenate(parts)) == list(range(103))
            assert abs(len(split.train) - len(split.validation)) <= 1
            tests.append(split.test)
        assert len({tuple(split.train) for split in split_folds(103, 5, seed=seed)}) == 5
        assert sorted(np.concatenate(tests)) == list(range(103))
    with pytest.raises(BadInput, match="at least 5"):
        split_folds(1)


def test_weighted_sums_of_measures():
    assert parse_fitness("ndcg").weights == (("ndcg", 1.0),)
    for text, message in (("speed", "must be of"), ("ndcg=many", "weight")):
        with pytest.raises(BadInput, match=message):
            parse_fitness(text)
    with pytest.raises(UnknownPart, match="modern"):
        preset("ancient")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "hubs"
    write_world(make("world", "hubs").make(pages=60, days=20, seed=1), path)
    return path


@pytest.mark.parametrize("formula", ["t * X", "rate * t", "nad * t", "aad + gad / 2 + sad * t"])
@pytest.mark.parametrize("explore", [0.0, 0.4])
def test_a_simulation_picks_what_a_replay_picks(folder, tmp_path, formula, explore):
    trace = read_trace(folder)
    trace = trace.take(trace.alive())
    save_formula(Formula(parse(formula, ALL)), tmp_path / "policy.json")
    budget = Budget(fetches=7, explore=explore)
    cycles = replay(trace, str(tmp_path / "policy.json"), budget, seed=5)
    simulator = Simulator(changes_of(trace), 7, seed=5, explore=explore)
    picks = simulator.run(parse(formula, ALL), keep=True).picks
    late = cycles.cycle > 2
    for row, cycle in enumerate(np.unique(cycles.cycle[late])):
        assert sorted(cycles.page[cycles.cycle == cycle]) == picks[row].tolist()


def test_learning_new_links_and_sizes(folder, monkeypatch):
    monkeypatch.setitem(PRESETS, "modern", replace(SMALL["modern"], individuals=12, generations=2))
    trace = read_trace(folder)
    trace = trace.take(trace.alive())
    learned = learn(trace, measure="new-links", terminals=("t", "bytes", "rate"), budget="10%")
    assert learned.scores["train"] > 0
    both = learn(trace, measure="ndcg=0.5,freshness=0.5", budget="10%", select="avg")
    assert 0 < both.scores["test"] <= 1
    with pytest.raises(BadInput, match="knows only bytes"):
        learn(trace, terminals=("t", "seconds"))
    with pytest.raises(BadInput, match="terminals"):
        learn(trace, terminals=("t", "colour"))


def test_learning_needs_enough_pages_and_cycles(tmp_path):
    (tmp_path / "bits.txt").write_text("0101\n")
    with pytest.raises(BadInput, match="larger trace"):
        learn(read_bits(tmp_path))
    (tmp_path / "bits.txt").write_text("01\n" * 10)
    with pytest.raises(BadInput, match="warm_up"):
        learn(read_bits(tmp_path))
