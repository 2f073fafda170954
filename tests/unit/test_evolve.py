"""Known answers of simulated score functions, and invalid input."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from recrawl.errors import BadInput
from recrawl.evolve.change_history import from_bits
from recrawl.evolve.expression import apply
from recrawl.evolve.formula_file import MAX_FILE_BYTES, Formula, load_formula, save_formula
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.terminals import TERMINALS, check_names
from recrawl.evolve.text import latex, parse, write

ALL = tuple(TERMINALS)
TOY = ("111111", "101010", "000000", "001000", "010101", "000011")
BITS = np.array([[day == "1" for day in page] for page in TOY])
#: The classic policies as formulas, and what they find on the toy (K13).
CLASSIC = {
    "t * X": [1, 0.5, 1, 1],
    "cho": [1, 0.5, 1, 0.5],
    "1 - exp(0 - nad * t)": [1, 1, 1, 1],
    "1 - exp(0 - sad * t)": [0.5, 1, 1, 0.5],
    "1 - exp(0 - aad * t)": [0.5, 1, 1, 1],
    "1 - exp(0 - gad * t)": [0.5, 1, 1, 0.5],
    "t": [1, 0.5, 1, 1],
}


@pytest.mark.parametrize("formula", CLASSIC)
@pytest.mark.parametrize("way", ["run_states", "run_pages"])
def test_k13(formula, way):
    simulator = Simulator(from_bits(BITS), 2, ties="id")
    run = getattr(simulator, way)(parse(formula, ALL), keep=True)
    assert run.change_ratio.tolist() == CLASSIC[formula]
    if formula == "t * X":
        assert run.picks.tolist() == [[0, 1], [0, 1], [0, 4], [0, 1]]
    if formula == "t":
        assert run.picks.tolist() == [[0, 1], [2, 3], [4, 5], [0, 1]]


@pytest.mark.parametrize(
    ("op", "x", "y", "expected"),
    [
        ("/", 3.0, 0.0, 1e6),
        ("/", -3.0, 1e-7, -1e6),
        ("/", 3.0, -1e-7, -1e6),
        ("/", -3.0, -1e-7, 1e6),
        ("/", 0.0, 0.0, 1e6),
        ("/", 3.0, 2e-6, 1.5e6),
        ("log", 0.0, 0.0, 0.0),
        ("log", 0.5, 0.0, math.log(0.5)),
        ("log", -2.0, 0.0, math.log(2)),
        ("log1", 0.5, 0.0, 0.0),
        ("log1", -1.0, 0.0, 0.0),
        ("log1", 3.0, 0.0, math.log(3)),
        ("exp", 1000.0, 0.0, math.inf),
        ("^", 10.0, 400.0, math.inf),
        ("^", -8.0, 1 / 3, math.nan),
        ("^", -0.0, -1.0, math.inf),
    ],
)
def test_protected_operators(op, x, y, expected):
    from recrawl.evolve.expression import OPERATORS

    np.testing.assert_equal(apply(OPERATORS.index(op), x, y), expected)


def test_one_page():
    simulator = Simulator(from_bits(np.array([[1, 0, 1, 0, 1]], np.bool_)), 1)
    assert simulator.run(parse("t", ALL)).changed.tolist() == [1, 0, 1]


def test_nothing_changes_and_everything_does():
    for bits, expected in ((np.zeros((50, 9), np.bool_), 0.0), (np.ones((50, 9), np.bool_), 1.0)):
        run = Simulator(from_bits(bits), 5, ndcg=True).run(parse("t * X", ALL))
        assert run.change_ratio.mean() == expected
        assert run.ndcg.tolist() == [1.0] * 7  # nothing to find counts as 1
        assert run.stale[-1] == (0 if expected == 0 else 45)


def test_no_fetches():
    run = Simulator(from_bits(BITS), 0, ndcg=True).run(parse("t * X", ALL), keep=True)
    assert run.change_ratio.tolist() == [0.0] * 4
    assert run.picks.shape == (4, 0)


def test_a_column_of_the_pages():
    """Each page's column is what its last visit showed: it is 9 for page 3 until it is visited."""
    size = np.array([5.0, 1, 2, 9, 3, 4])[:, None] + np.zeros(7)
    size[3, 3:] = 0.0
    simulator = Simulator(from_bits(BITS), 1, columns={"bytes": size})
    run = simulator.run(parse("bytes + 0 * t", (*ALL, "bytes")), keep=True)
    assert run.picks.tolist() == [[3], [0], [0], [0]]
    with pytest.raises(BadInput, match="'seconds'"):
        simulator.run(parse("seconds", ("seconds",)))
    for wrong in (size + np.inf, size[:, :3], size[:, 0]):
        with pytest.raises(BadInput, match="finite"):
            Simulator(from_bits(BITS), 1, columns={"bytes": wrong})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fetches": 7}, "fetches must be from 0 to the 6 pages"),
        ({"fetches": -1}, "fetches must be"),
        ({"warm_up": 6}, "warm_up must leave"),
        ({"explore": 1.5}, "explore must be"),
    ],
)
def test_invalid_settings(settings, message):
    with pytest.raises(BadInput, match=message):
        Simulator(from_bits(BITS), **{"fetches": 1, **settings})
    with pytest.raises(BadInput, match="shape"):
        from_bits(np.empty((0, 5), np.bool_))
    with pytest.raises(BadInput, match="terminals"):
        check_names(["n", "colour"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t *", "a number, a name or a bracket"),
        ("(t", "'\\)'"),
        ("t t", "an operator or the end"),
        ("__import__('os')", "unknown"),
        ("sin(t)", "unknown"),
        ("t.real", "an operator or the end"),
        ("1e999", "below 1e308"),
        ("(" * 5000 + "t", "nest at most"),
        ("-" * 5000 + "t", "nest at most"),
        ("t" + "^t" * 5000, "nest at most"),
        ("t" + "+t" * 9000, "nodes"),
        ("t" * 30_000, "letters"),
        ("", "its end"),
    ],
)
def test_invalid_formulas(text, message):
    with pytest.raises(BadInput, match=message):
        parse(text, ("n", "X", "t"))


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("log(X / n) ^ 2 * exp(t)", r"\ln\left|\frac{X}{n}\right|^{2} \cdot e^{t}"),
        ("(n - t) * 1e-9 + e", r"\left(n - t\right) \cdot 1 \cdot 10^{-9} + e"),
        ("(X * rate) ^ 2 / t", r"\frac{\left(X \cdot \mathrm{rate}\right)^{2}}{t}"),
    ],
)
def test_latex(formula, expected):
    assert latex(parse(formula, ALL)) == expected


def test_a_saved_file_loads_again(tmp_path):
    file = tmp_path / "policy.json"
    save_formula(Formula(parse("X / n * t ^ 0.5", ALL), 7.0, {"seed": 3}), file)
    formula = load_formula(file)
    assert write(formula.expression) == "X / n * t ^ 0.5"
    assert formula.expression.terminals == ("n", "X", "t")
    assert (formula.cycle_days, formula.made) == (7.0, {"seed": 3})


GOOD = {"recrawl-policy": 1, "formula": "t * X", "cycle_days": 1.0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps(GOOD)[:-9], "must be JSON"),
        ("", "must be JSON"),
        ("[" * 30_000, "must be JSON"),
        ("[]", "must hold a JSON object"),
        ("{}", "recrawl-policy"),
        (json.dumps({**GOOD, "recrawl-policy": 2}), "version 1"),
        (json.dumps({**GOOD, "formula": 7}), "formula must be text"),
        (json.dumps({**GOOD, "formula": "eval(t)"}), "'eval'"),
        (json.dumps({**GOOD, "formula": "t @ X"}), "'@'"),
        (json.dumps({**GOOD, "cycle_days": 0}), "cycle_days"),
        (json.dumps({**GOOD, "cycle_days": math.nan}), "cycle_days"),
        (json.dumps({**GOOD, "cycle_days": True}), "cycle_days"),
        (json.dumps(GOOD) + " " * MAX_FILE_BYTES, "at most"),
        (b"\xff\xfe\x00", "must be JSON"),
    ],
)
def test_invalid_files(tmp_path, content, message):
    file = tmp_path / "policy.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadInput, match=message):
        load_formula(file)
    with pytest.raises(BadInput, match="recrawl evolve"):
        load_formula(tmp_path / "absent.json")
