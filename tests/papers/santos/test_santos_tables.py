"""The tables of the thesis: its own numbers, and cells of ours worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import table_cells

from recrawl.papers.santos.experiment import FoldRun, ThesisResults
from recrawl.papers.santos.tables import (
    BEST,
    BETTER_DAYS,
    TABLE_42,
    TABLE_43,
    TABLE_44,
    _averages,
    _best,
    _days,
    _selections,
    _times,
)

PAGE = Path(__file__).parents[3] / "docs" / "papers" / "santos.md"


def section(title):
    """The cells of a table of the published page."""
    text = PAGE.read_text().split(f"### {title}")[1]
    return table_cells(text.split("\n### ")[0].split("\n## ")[0].splitlines())


def test_the_thesis_agrees_with_itself():
    """GP4C in Table 4.3 is the mean over the folds of Table 4.2."""
    assert np.mean([test for _, _, test in TABLE_42]) == pytest.approx(TABLE_43[BEST], abs=1e-6)


def test_the_published_page_has_the_numbers_of_the_thesis():
    """A number copied wrongly, on the page or in the code, is seen where the two differ."""
    ratios = section("Table 4.2")
    for fold, row in enumerate(TABLE_42, 1):
        assert [cell.split(" / ")[0] for cell in ratios[str(fold)][:3]] == [f"{v:.4f}" for v in row]
    averages = section("Table 4.3")
    assert {name: averages[name][0] for name in TABLE_43} == {
        name: f"{ratio:.4f}" for name, ratio in TABLE_43.items()
    }
    seconds = section("Table 4.4")
    for seed, row in TABLE_44.items():
        assert [cell.split(" / ")[0] for cell in seconds[str(seed)][:2]] == [f"{s:,}" for s in row]
    days = section("GP4C best against the baselines")
    days |= section("GP4C best against the other selections")
    for name, better in BETTER_DAYS.items():
        assert days[name][0].split(" / ")[0] == str(better)


def fold_run(fold, seed, simulated, breeding, validating):
    one = [[0.5, 0.5]]
    return FoldRun(fold, seed, ["t * X"], one, one, [0.5], simulated, breeding, validating)


@pytest.fixture(scope="module")
def results():
    """Two folds and two seeds; the ratio of each method in a fold rises or falls by the day."""
    runs = [
        fold_run(0, 111, 100, 10.0, 1.0),
        fold_run(1, 111, 200, 20.0, 2.0),
        fold_run(0, 7, 1, 0.5, 0.25),
        fold_run(1, 7, 2, 0.5, 0.25),
    ]
    daily = {
        "Rand": np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.4, 0.5, 0.6]]),
        BEST: np.array([[0.7, 0.7, 0.7, 0.7], [0.8, 0.8, 0.8, 0.8]]),
        "GP4C sum": np.array([[0.7, 0.7, 0.7, 0.7], [0.6, 0.6, 0.6, 0.6]]),
    }
    trees = [run.candidates()[0] for run in runs[:2]]
    return ThesisResults(runs, {BEST: trees, "GP4C sum": trees}, daily)


def test_seconds_are_summed_over_the_folds_of_a_seed(results):
    """Seed 111: 30 s and 3 s, and the thesis needed (43213 + 161) / 33 = 1314 times as long."""
    rows = table_cells(_times(results))
    assert rows["111"] == ["43,213 / 30.0", "161 / 3.0", "300", "1,314"]
    assert rows["7"] == ["0 / 1.0", "0 / 0.5", "3", "0"]


def test_ratios_of_the_best_function_beside_those_of_the_thesis(results):
    row = table_cells(_best(results))["2"]
    assert row == ["0.7049 / 0.5000", "0.6982 / 0.5000", "0.7069 / 0.8000", "`t * X`"]


def test_ratios_are_means_over_days_and_over_folds(results):
    assert table_cells(_averages(results))["Rand"] == ["0.1857", "0.2500", "0.4500", "0.3500"]
    rows = table_cells(_days(results))
    assert rows["day"] == ["1", "2", "3"]  # day 4 is not shown
    assert rows["Rand"] == ["0.200", "0.300", "0.400"]


def test_best_is_not_compared_with_itself(results):
    rows = table_cells(_selections(results))
    assert list(rows) == ["method", "GP4C sum"]
    assert rows["GP4C sum"][2].startswith("+0.1000 ")
    assert rows["GP4C sum"][-1] == "2"
