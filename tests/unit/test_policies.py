"""Known answers of the policies (K13, K15, K16)."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from recrawl import registry
from recrawl.checks import build_pages, sample_pages
from recrawl.checks.sample import NOW
from recrawl.model import DAY, Intervals
from recrawl.policies.indices import INDICES

TOY = ["111111", "101010", "000000", "001000", "010101", "000011"]
WARM_UP, BUDGET = 2, 2


def pages_at(visited):
    """Pages from the cycles in which each was visited, after a first copy in cycle 0."""
    last = [[0, *cycles[:-1]] for cycles in visited]
    rows = [
        (cycle - before, "1" in TOY[page][before:cycle], cycle * DAY)
        for page, cycles in enumerate(visited)
        for before, cycle in zip(last[page], cycles, strict=True)
    ]
    days, changed, at = (np.array(column) for column in zip(*rows, strict=True))
    start = np.cumsum([0, *map(len, visited)])
    past = Intervals(start, days.astype(float), changed, at, *np.full((4, len(at)), np.nan))
    return build_pages(past, np.zeros(len(visited)))


def replay(name):
    """Picks and change ratio of each cycle; ties go to the lowest page."""
    policy = registry.make("policy", name)
    visited = [list(range(1, WARM_UP + 1)) for _ in TOY]
    for cycle in range(WARM_UP + 1, len(TOY[0]) + 1):
        scores = policy.score(pages_at(visited), cycle * DAY)
        picks = sorted(np.argsort(-scores, kind="stable")[:BUDGET].tolist())
        hits = sum("1" in TOY[page][visited[page][-1] : cycle] for page in picks)
        for page in picks:
            visited[page].append(cycle)
        yield "".join(map(str, picks)), hits / BUDGET


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("tx", [1, 0.5, 1, 1]),
        ("cho", [1, 0.5, 1, 0.5]),
        ("nad-text", [1, 1, 1, 1]),
        ("nad-code", [1, 0.5, 1, 1]),
        ("sad-text", [0.5, 1, 1, 0.5]),
        ("sad-code", [0.5, 1, 1, 0.5]),
        ("aad-text", [0.5, 1, 1, 1]),
        ("aad-code", [0.5, 1, 1, 0.5]),
        ("gad-text", [0.5, 1, 1, 0.5]),
        ("gad-code", [0.5, 1, 1, 0.5]),
        ("oldest", [1, 0.5, 1, 1]),
    ],
)
def test_toy_of_gp4c(name, known):
    assert [ratio for _, ratio in replay(name)] == known


@pytest.mark.parametrize(
    ("name", "known"), [("tx", ["01", "01", "04", "01"]), ("oldest", ["01", "23", "45", "01"])]
)
def test_toy_picks(name, known):
    assert [picks for picks, _ in replay(name)] == known


def test_nad_of_the_code_ranks_as_tx():
    pages = sample_pages()
    for now in NOW + DAY * np.array([0.0, 0.5, 1.0, 10.0]):
        tx = registry.make("policy", "tx").score(pages, now)
        # Cycles as long as a life, so that φ does not round to 1 and hide the order.
        nad = registry.make("policy", "nad-code", cycle_days=1e6).score(pages, now)
        assert np.array_equal(np.sign(np.subtract.outer(tx, tx)).round(), order(nad, tx))


def order(score, other):
    """Signs of all differences, 0 where `other` has a tie up to rounding."""
    signs = np.sign(np.subtract.outer(score, score))
    return np.where(np.subtract.outer(other, other) == 0, 0, signs)


@pytest.mark.parametrize(
    ("name", "rate", "days", "known"),
    [
        ("freshness", 1.0, 1.0, 0.264241),
        ("freshness", 0.1, 10.0, 2.642411),
        ("freshness", 5.0, 10.0, 0.2),
        ("age", 2.0, 3.0, 4.254338),
        ("harmonic", 2.0, 3.0, 2.501239),
        ("change-ratio", 2.0, 3.0, 6.0),
    ],
)
def test_indices(name, rate, days, known):
    assert INDICES[name](np.array([rate]), np.array([days])) == pytest.approx(known, abs=5e-7)


def exponential(x):
    """e^−x as a fraction, to 60 digits."""
    return sum((-x) ** k / factorial(k) for k in range(60))


EXACT = {
    "freshness": lambda x: 1 - (1 + x) * exponential(x),
    "harmonic": lambda x: x - 1 + exponential(x),
    "age": lambda x: x * x / 2 - 1 + (1 + x) * exponential(x),
}


@pytest.mark.parametrize("x", [1e-6, 1e-3, 0.05, 0.0999, 0.1, 0.1001, 0.3, 2.0])
@pytest.mark.parametrize("name", EXACT)
def test_indices_have_all_digits_on_both_sides_of_the_series(name, x):
    """The rate is 1, and then 4 with a quarter of the days: U falls by λ, that of age by λ²."""
    known = float(EXACT[name](Fraction(x)))
    found = INDICES[name](np.array([1.0, 4.0]), np.array([x, x / 4]))
    assert found == pytest.approx([known, known / (16 if name == "age" else 4)], rel=2e-11)


@pytest.mark.parametrize("name", INDICES)
def test_indices_are_safe_at_the_ends(name):
    rate, days = (g.ravel() for g in np.meshgrid(10.0 ** np.arange(-9, 10), [0.0, 1e-9, 1.0, 1e6]))
    found = INDICES[name](rate, days)
    assert np.isfinite(found).all()
    assert (found[days > 0] > 0).all()
    assert (found[days == 0] == 0).all()


@pytest.mark.parametrize("name", INDICES)
def test_objectives_take_any_rate(name):
    pages = sample_pages()
    for rate in registry.parts("rate"):
        found = registry.make("policy", name, rate=rate).score(pages, NOW)
        assert np.isfinite(found).all()
        if name != "ephemeral":  # to it, a page never visited is new content
            rates = registry.make("rate", rate).rate(pages)
            np.testing.assert_array_equal(found, INDICES[name](rates, pages.copy_age(NOW)))


def test_random_draws_anew_by_seed_and_time():
    pages = sample_pages(n=2000)
    draws = [
        registry.make("policy", "random", seed=seed).score(pages, now)
        for seed, now in [(0, NOW), (1, NOW), (-1, NOW), (0, NOW + 1)]
    ]
    assert all(0.45 < draw.mean() < 0.55 and draw.min() >= 0 and draw.max() < 1 for draw in draws)
    assert (np.abs(np.corrcoef(draws) - np.eye(len(draws))) < 0.1).all()


def test_pages_never_seen_to_change_are_visited_again_unless_the_paper_says_never():
    pages = sample_pages()
    quiet = pages.take((pages.n_changes == 0) & (pages.days_since_visit(NOW) > 0))
    for name in ("poisson", "oldest", "freshness", "age", "harmonic", "change-ratio"):
        assert (registry.make("policy", name).score(quiet, NOW) > 0).all()
    for name in ("tx", "cho", "nad-text", "nad-code"):
        assert (registry.make("policy", name).score(quiet, NOW) == 0).all()


def test_auto_adds_objectives_as_shares_of_their_means():
    """They have different units."""
    pages = sample_pages()

    def score(objective):
        return registry.make("policy", "auto", objective=objective).score(pages, NOW)

    age, fresh = score("age"), score("freshness")
    expected = age / age.mean() + 3 * fresh / fresh.mean()
    np.testing.assert_allclose(score("age=1+freshness=3"), expected)
