"""Bits of changes against plain loops, in one word and in several; terminals and scores by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recrawl.checks import sample_pages
from recrawl.checks.sample import NOW
from recrawl.errors import BadInput
from recrawl.evolve.change_history import (
    NO_CHANGE,
    changed,
    from_bits,
    from_contents,
    lowest,
    next_change,
    update_turning,
)
from recrawl.evolve.evaluate import CHUNK, scores
from recrawl.evolve.terminals import (
    TERMINALS,
    check_names,
    fill_terminals,
    needs_outcomes,
    page_terminals,
    terminal_codes,
)
from recrawl.evolve.text import parse
from recrawl.model import DAY

NONE = np.empty((0, 0), np.uint16)


def history(cycles, pages=12, seed=0):
    bits = np.random.default_rng(seed).random((pages, cycles)) < 0.05
    bits[0], bits[1] = False, False
    bits[1, -1] = True
    return bits, from_bits(bits)


def test_the_lowest_bit_of_a_word():
    for bit in range(64):
        assert lowest(np.uint64(1 << bit)) == bit
        assert lowest(np.uint64((2**64 - 1) << bit & (2**64 - 1))) == bit


@pytest.mark.parametrize("cycles", [6, 63, 64, 65, 128, 150])
def test_the_next_change_is_that_of_a_plain_loop(cycles):
    bits, made = history(cycles)
    assert (len(made), made.cycles, made.words.shape[1]) == (12, cycles, -(-cycles // 64))
    for page in range(12):
        for cycle in range(cycles + 1):
            later = (c for c in range(cycle + 1, cycles + 1) if bits[page, c - 1])
            assert next_change(made.words, page, cycle) == next(later, NO_CHANGE)


@pytest.mark.parametrize("cycles", [6, 64, 65, 130])
def test_a_visit_shows_a_change_if_there_was_one_since_the_last(cycles):
    bits, made = history(cycles)
    for page in range(0, 12, 3):
        for last in range(0, cycles, 5):
            for now in range(last + 1, cycles + 1, 3):
                found = changed(made.words, NONE, page, last, now)
                assert found == bits[page, last:now].any()


def test_what_came_and_went_between_two_visits_is_not_seen():
    contents = np.array([[0, 1, 0, 2], [0, 0, 1, 1]], np.uint16)
    made = from_contents(contents, np.array([7, 9], np.uint64), cycle_days=2.0)
    assert made.contents is contents
    assert (made.cycle_days, made.key.tolist()) == (2.0, [7, 9])
    seen = [changed(made.words, made.contents, 0, last, 2) for last in (0, 1)]
    assert seen == [False, True]
    part = made.take(np.array([1]))
    assert (part.key.tolist(), part.contents.tolist()) == ([9], [[0, 0, 1, 1]])
    assert [next_change(part.words, 0, cycle) for cycle in range(3)] == [2, 2, NO_CHANGE]


def test_contents_are_kept_only_where_a_page_returns():
    forward = np.array([[0, 1, 2, 2], [0, 0, 0, 1]], np.uint16)
    assert from_contents(forward).contents.size == 0
    assert from_contents(forward).take(np.array([0])).contents.size == 0


def test_a_visit_turns_copies_stale_later():
    """After it: one copy more is stale from the next change on."""
    made = from_bits(np.array([[1, 0, 1, 0, 1, 0]], bool))
    turning = np.zeros(7, np.int64)
    update_turning(made.words, NONE, 0, 0, 2, turning)
    assert turning.tolist() == [0, 0, 0, 1, 0, 0, 0]
    update_turning(made.words, NONE, 0, 3, 5, turning)
    assert turning.tolist() == [0, 0, 0, 1, 0, 0, 0], "no change follows"


def test_a_visit_to_a_page_that_returns_turns_copies_stale_and_fresh():
    random = np.random.default_rng(3)
    contents = random.integers(0, 3, (20, 12)).astype(np.uint16)
    made = from_contents(contents)
    for page in range(20):
        for last, now in ((0, 2), (1, 5), (4, 9)):
            if contents[page, last] == contents[page, now]:
                continue
            turning = np.zeros(12, np.int64)
            update_turning(made.words, contents, page, last, now, turning)
            fresh = contents[page, now:] != contents[page, now]
            old = contents[page, now:] != contents[page, last]
            # At `now` the visit makes one stale copy fresh, which is −1 already.
            assert np.cumsum(turning[now:]).tolist() == (fresh * 1 - old * 1 + 1).tolist()
            assert not turning[: now + 1].any()


def test_bits_must_have_rows_and_columns():
    for shape in ((0, 3), (3, 0), (3,)):
        with pytest.raises(BadInput, match="one row per page"):
            from_bits(np.zeros(shape, bool))


# Terminals


def test_terminals_of_states_by_hand():
    """4 visits, changes at the 2nd and 4th, the last in cycle 6 of 2 days; now is cycle 9."""
    names = tuple(TERMINALS)
    rows = np.full((len(names) + 1, 1), -7.0)
    codes = terminal_codes((*names, "bytes"))
    one = np.ones(1, np.int64)
    past = np.array([0b0101], np.uint64)  # the newest in bit 0
    fill_terminals(codes, 4 * one, 2 * one, 6 * one, past, 6 * one, 9, 2.0, rows)
    known = {
        "n": 4,
        "X": 2,
        "t": 3,
        "cho": np.log(4.5 / 2.5),
        "nad": 1 / 2,
        "sad": 1,
        "aad": (2 + 4) / 10,
        "gad": (2 + 8) / 15,
        "rate": 2.5 / 12.5,
    }
    assert dict(zip(names, rows[:-1, 0], strict=True)) == pytest.approx(known)
    assert rows[-1, 0] == -7.0, "a column of pages is not of a state"


def test_terminals_of_pages_are_those_of_their_columns():
    pages = replace(sample_pages(n=20), bytes=np.r_[np.nan, np.arange(19.0)])
    found = page_terminals(("X", "t", "bytes", "n_visits"), pages, NOW + DAY, cycle_days=2.0)
    expected = [
        pages.n_changes,
        pages.days_since_visit(NOW + DAY) / 2,
        np.r_[0.0, np.arange(19.0)],
        pages.n_visits,
    ]
    np.testing.assert_allclose(found, expected)


def test_names_of_terminals():
    assert check_names(["t", "X", "t", "bytes"]) == ("t", "X", "bytes")
    with pytest.raises(BadInput, match="terminals must be among"):
        check_names(["t", "size"])
    with pytest.raises(BadInput, match="at least one"):
        check_names([])
    assert needs_outcomes(("t", "gad"))
    assert not needs_outcomes(("t", "nad", "rate"))


def test_scores_of_more_columns_than_a_chunk():
    random = np.random.default_rng(5)
    n, x, t = random.uniform(0.5, 3.0, (3, 2 * CHUNK + 9))
    formula = parse("(log(n) * X - t / 2) ^ 2 + exp(t) * (n - 3)", ("n", "X", "t"))
    expected = (np.log(n) * x - t / 2) ** 2 + np.exp(t) * (n - 3)
    np.testing.assert_allclose(scores(formula, np.stack([n, x, t])), expected, rtol=1e-12)
