"""Known answers of the schedules of other crawlers, worked out by hand from their sources."""

from dataclasses import replace

import numpy as np
import pytest

from recrawl import registry
from recrawl.checks import build_pages
from recrawl.model import DAY, Intervals

NOW = 1000 * DAY


def page(days, bits="", **columns):
    """A page first visited on day 0, then on `days`; the bits say which visits showed a change."""
    days = np.array(days, float)
    past = Intervals(
        np.array([0, len(days)]),
        np.diff(days, prepend=0.0),
        np.array([bit == "1" for bit in bits], np.bool_),
        days * DAY,
        *np.full((4, len(days)), np.nan),
    )
    changes = {name: np.array([value * DAY]) for name, value in columns.items()}
    return replace(build_pages(past, np.zeros(1)), **changes)


def due(name, pages, now=NOW, **arguments):
    """The day on which the page is due."""
    (late,) = registry.make("policy", name, **arguments).score(pages, now)
    return now / DAY - late


@pytest.mark.parametrize(
    ("days", "bits", "known"),
    [
        ([], "", 30),
        ([10], "1", 10 + 24),  # 0.8 × 30, no shift as the page changed just now
        ([10], "0", 10 + 42 - 3),  # 1.4 × 30, shifted by 0.3 × 10
        ([10, 20], "11", 20 + 19.2),
        ([10, 20], "10", 20 + 33.6 - 3),  # δ counts from the change on day 10
        ([10, 20], "00", 20 + 58.8 - 6),
        ([50], "0", 50 + 50 - 15),  # δ = 50 is more than 42
        ([58, 100], "00", 100 + 100 - 30),  # δ = 100 is more than 1.4 × 58
        # That is over 90 days: the interval becomes 81 days and the copy is forgotten, so the next
        # visit cannot be compared.
        ([58, 100, 200], "001", 200 + 81),
        ([58, 100, 200, 210], "0011", 210 + 64.8),
    ],
)
def test_nutch(days, bits, known):
    assert due("nutch-adaptive", page(days, bits)) == pytest.approx(known, abs=1e-4)


def test_nutch_without_synchronization():
    assert due("nutch-adaptive", page([50], "0"), sync_delta=False) == pytest.approx(92)


def test_nutch_keeps_its_bounds():
    always = page(np.arange(1, 90), "1" * 89)
    assert due("nutch-adaptive", always) == pytest.approx(89 + 60 / 86_400)
    bounds = {"max_seconds": 35 * DAY, "db_max_seconds": 1e9}
    assert due("nutch-adaptive", page([10], "0"), **bounds) == pytest.approx(10 + 35 - 3)
    # 0.3 × 200 days are more than the maximum; Nutch then shifts by nothing.
    assert due("nutch-adaptive", page([200], "0"), **bounds) == pytest.approx(235)


def test_nutch_fetches_at_once_what_is_due_in_more_than_90_days():
    pages = page([200], "0")  # due on day 200 + 200 − 60 = 340
    assert due("nutch-adaptive", pages, now=249 * DAY) == pytest.approx(249)
    assert due("nutch-adaptive", pages, now=251 * DAY) == pytest.approx(340)


def test_nutch_keeps_the_interval_at_a_visit_not_compared():
    assert due("nutch-adaptive", page([10], "1", last_visit=15)) == pytest.approx(15 + 24 - 1.5)


MINUTES = 1 / 1440


@pytest.mark.parametrize(
    ("days", "bits", "known"),
    [
        ([], "", 1),
        ([2], "0", 2 + 2160 * MINUTES),
        ([2], "1", 2 + 750 * MINUTES),
        ([2, 3], "11", 3 + 405 * MINUTES),
        ([2, 3, 4], "111", 4 + 232 * MINUTES),  # 232.5 without rounding down
        ([2, 3, 4, 5], "1111", 5 + 146 * MINUTES),
        ([2, 3, 4, 5, 6], "11110", 6 + 219 * MINUTES),
        (range(1, 8), "0" * 7, 7 + 14),  # at most two weeks
        (range(1, 31), "1" * 30, 30 + 60 * MINUTES),
    ],
)
def test_stormcrawler(days, bits, known):
    assert due("stormcrawler-adaptive", page(list(days), bits)) == pytest.approx(known, abs=1e-9)


def test_stormcrawler_starts_again_at_a_visit_not_compared():
    assert due("stormcrawler-adaptive", page([2], "1", last_visit=3)) == pytest.approx(4)


@pytest.mark.parametrize(
    ("days", "bits", "known"),
    [([], "", 1), ([8], "0", 9), ([8], "1", 8 + 1 + 4), ([8, 12, 20], "110", 20 + 1 + 4)],
)
def test_manifoldcf(days, bits, known):
    assert due("manifoldcf-dynamic", page(days, bits)) == pytest.approx(known)


def test_manifoldcf_keeps_a_maximum():
    assert due("manifoldcf-dynamic", page([8], "1"), max_days=3) == pytest.approx(11)


@pytest.mark.parametrize("name", ["nutch-adaptive", "stormcrawler-adaptive", "manifoldcf-dynamic"])
def test_a_page_never_visited_is_due_once_seen(name):
    nothing = page([]).intervals()
    pages = replace(build_pages(nothing, np.full(1, np.nan)), first_seen=np.full(1, 7 * DAY))
    assert due(name, pages) == pytest.approx(7)
