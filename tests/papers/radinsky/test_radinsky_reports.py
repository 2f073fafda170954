"""Tables, lists of experts and conclusions from hand-made predictions."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.model import Neighbours
from recrawl.papers.radinsky.conclusions import conclusions
from recrawl.papers.radinsky.data import PredictionProtocol
from recrawl.papers.radinsky.experiment import Predictions
from recrawl.papers.radinsky.expert_lists import expert_lists
from recrawl.papers.radinsky.tables import drawn_baseline, measure, tables

URLS = [f"https://x.org/{name}" for name in "abcdef"]
#: Three targets, four days; the last day of the second is unknown.
TRUTH = np.array([[1.0, 0, 1, 0], [0, 0, 1, np.nan], [1, 1, 0, 0]])


def answers(n_right):
    """Decision values that are right on the first n days of each target, wrong on the others."""
    right = np.arange(4) < np.array(n_right)[:, None]
    return np.where(right == (np.nan_to_num(TRUTH) > 0), 1.0, -1.0)


def predictions(**n_right):
    """Predictions in which each method is right on the given numbers of days."""
    decisions = {name: answers([2, 2, 2]) for name in ("bagging", "boosting", "graph", "content")}
    others = ("warping", "union", "boosting over all", "2D without f2")
    decisions |= {name: answers([2, 2, 2]) for name in others}
    frequency = np.array([[0.5] * 4, [0.25] * 4, [0.75] * 4])
    decisions["1D"] = frequency - 0.5
    decisions |= {name: answers(days) for name, days in n_right.items()}
    row = np.array([[1, 3, -1], [0, -1, -1], [-1, -1, -1]])
    near = Neighbours(row, np.array([[0.5, 0.25, 0], [1, 0, 0], [0, 0, 0]]))
    methods = ("graph", "content", "correlation", "warping")
    return Predictions(
        PredictionProtocol(n=5, k=2, days=4),
        decisions,
        TRUTH,
        n_passing=3,
        n_present=6,
        urls=URLS,
        target=np.array([0, 2, 4]),
        related=dict.fromkeys(methods, near),
    )


def test_accuracy_is_over_known_days_of_each_page():
    method = measure(answers([3, 1, 0]), TRUTH)
    assert method.accuracy.tolist() == [3 / 4, 1 / 3, 0.0]
    # Right on changes: days 0 and 2 of the first page, of 5; on others: 1 + 1 of 6.
    assert method.balanced == pytest.approx((2 / 5 + 2 / 6) / 2)


def test_auc_by_hand():
    """Changes have 3, 1 and 1; others 2, 1 and 0. Of 9 pairs 3 + 1.5 + 1.5 are in order."""
    decision = np.array([[3.0, 2, 1], [1, 1, 0]])
    truth = np.array([[1.0, 0, 1], [0, 1, 0]])
    assert measure(decision, truth).auc == pytest.approx(6 / 9)
    assert np.isnan(measure(decision, truth * 0).auc)


def test_an_unknown_decision_predicts_no_change_and_ranks_last():
    decision, truth = np.array([[np.nan, 2.0, 1.0]]), np.array([[0.0, 1.0, 0.0]])
    method = measure(decision, truth)
    assert method.accuracy.tolist() == [2 / 3]
    assert method.auc == 1.0


def test_the_drawn_baseline_by_hand():
    """Predicting a change with probability p is right with p on a change, else with 1 - p."""
    accuracy = drawn_baseline(predictions(correlation=[1, 1, 1], **{"2D": [1, 1, 1]})).accuracy
    np.testing.assert_allclose(accuracy, [0.5, (0.75 + 0.75 + 0.25) / 3, 0.5])


def test_tables_compare_each_method_with_the_experts():
    text = tables(predictions(correlation=[4, 2, 3], **{"2D": [2, 2, 3]}))
    rows = {
        line.split(" | ")[0][2:]: line.split(" | ") for line in text.splitlines() if "|" in line
    }
    mean = (1 + 2 / 3 + 3 / 4) / 3
    assert rows["3D, multiple experts"][2] == f"{mean:.2%}"
    assert rows["2D, single expert"][2] == f"{mean - 1 / 6:.2%}"
    assert rows["2D, single expert"][6] == f"{1 / 6:+.2%}"
    assert rows["3D, multiple experts"][1] == "72.72%"
    assert text.startswith(
        "3 of 6 pages flip on 30% of the days or more; 3 taken as targets. n = 5"
    )
    assert "Pages change on 45.45% of these days by `chi-squared`" in text  # 5 of 11


def test_experts_are_listed_for_the_targets_that_gain_and_lose_most():
    """Gains: 2 / 4, 0 and -1 / 4. Weights 1, 0.5 and 0.25: the own vote has 1 / 1.75 = 57 %."""
    result = predictions(correlation=[4, 2, 1], **{"2D": [2, 2, 2]})
    text = expert_lists(result, 2)
    lines = [line for line in text.splitlines() if line.startswith(("- ", "  - cross"))]
    assert lines == [
        "- `https://x.org/a`: 2D 50%, 3D 100%",
        "  - cross-correlation: itself 57%; `https://x.org/b` 0.50, `https://x.org/d` 0.25",
        "- `https://x.org/e`: 2D 50%, 3D 25%",
        "  - cross-correlation: itself 100%; no other",
    ]
    assert "itself 50%; `https://x.org/a` 1.00\n" in expert_lists(result, 99)
    targets = [line for line in expert_lists(result, 99).splitlines() if line.startswith("- ")]
    assert [line[17] for line in targets] == ["a", "c", "e"]
    assert [line[17] for line in expert_lists(result, 1).splitlines() if line[:2] == "- "] == ["a"]


def many(experts, alone):
    """Predictions for 12 targets and 40 days, right on about that many days each."""
    random = np.random.default_rng(0)
    truth = (random.random((12, 40)) < 0.5).astype(float)
    frequency = np.zeros((12, 40))

    def method(n_right, sign=1):
        n_right = n_right + sign * np.tile([1, -1], 6)  # so that tests have a deviation
        return np.where((np.arange(40) < n_right[:, None]) == (truth > 0), 1.0, -1.0)

    names = ("graph", "content", "warping", "union", "bagging", "boosting", "boosting over all")
    decisions = {name: method(20) for name in names} | {"1D": frequency}
    decisions |= {"correlation": method(experts), "2D": method(alone, -1)}
    return Predictions(PredictionProtocol(), decisions, truth, 12, 12, [], np.arange(12), {})


def test_conclusions_say_what_the_results_show():
    results = {"good": many(35, 25), "bad": many(25, 35), "same": many(30, 30)}
    text = conclusions(results)
    line = next(line for line in text.splitlines() if "against the page alone" in line)
    better, worse, equal = line.split("): ")[1].split("; ")
    assert better == "better in good (+25.0 points)"  # 10 of 40 days
    assert worse == "worse in bad (-25.0 points)"
    assert equal == "no different in same."
    combined = next(line for line in text.splitlines() if line.startswith("- How experts are com"))
    assert "multiple experts in good, bad, same" in combined
    assert text.count("| good | 12 |") == 1
