"""What all experiments of a page show together: every sentence is computed from the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.lab.markdown import markdown
from recrawl.lab.statistics import fold_test, holm
from recrawl.papers.radinsky.experiment import MAIN
from recrawl.papers.radinsky.tables import TABLES, drawn_baseline, measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recrawl.papers.radinsky.experiment import Predictions
    from recrawl.papers.radinsky.tables import MethodAccuracy

P = 0.05
#: Compared in a sentence each: two methods, by their names here and in words.
COMPARISONS: Final = (
    (MAIN, "2D", "experts (3D)", "the page alone (2D)"),
    (MAIN, "1D", "experts (3D)", "the majority (1D)"),
    (MAIN, "1D drawn", "experts (3D)", "the baseline as printed (1D, drawn)"),
    ("2D", "1D", "the page alone (2D)", "the majority (1D)"),
    ("boosting over all", MAIN, "one boosting for all pages", "experts (3D)"),
)


def conclusions(results: Mapping[str, Predictions]) -> str:
    """A table of all experiments, by name, and what they say about each comparison."""
    methods = {name: _methods(result) for name, result in results.items()}
    lines = ["## All experiments", "", *_overview(results, methods), ""]
    lines += [f"- {_compare(methods, *names)}" for names in COMPARISONS]
    lines += [f"- {_best(methods, title)}" for title in list(TABLES)[1:]]
    return "\n".join(lines) + "\n"


def _methods(result: Predictions) -> dict[str, MethodAccuracy]:
    methods = {name: measure(decision, result.truth) for name, decision in result.decisions.items()}
    return methods | {"1D drawn": drawn_baseline(result)}


def _overview(
    results: Mapping[str, Predictions], methods: Mapping[str, dict[str, MethodAccuracy]]
) -> Iterator[str]:
    rows = []
    for name, result in results.items():
        by = methods[name]
        shown = [by[key] for key in ("1D drawn", "1D", "2D", MAIN)]
        cells = [name, f"{len(result.truth):,}", f"{np.nanmean(result.truth):.2%}"]
        cells += [f"{np.nanmean(method.accuracy):.2%}" for method in shown]
        rows.append(cells + [f"{method.auc:.3f}" for method in shown[1:]])
    accuracies = ["1D, drawn", "1D, majority", "2D", "3D"]
    areas = ["AUC 1D", "AUC 2D", "AUC 3D"]
    yield from markdown(["experiment", "targets", "changes", *accuracies, *areas], rows)


def _compare(
    methods: Mapping[str, dict[str, MethodAccuracy]], one: str, other: str, label: str, rival: str
) -> str:
    """In which experiments one method is right more often than another, and by how much."""
    tests = {}
    for name, by in methods.items():
        known = np.isfinite(by[one].accuracy)
        tests[name] = fold_test(by[one].accuracy[known], by[other].accuracy[known])
    adjusted = holm([test.p for test in tests.values()])
    parts: dict[str, list[str]] = {"better in": [], "worse in": [], "no different in": []}
    for (name, test), p in zip(tests.items(), adjusted, strict=True):
        if p >= P or not np.isfinite(p):
            parts["no different in"].append(name)
        else:
            words = "better in" if test.mean > 0 else "worse in"
            parts[words].append(f"{name} ({test.mean * 100:+.1f} points)")
    said = "; ".join(f"{words} {_listed(names)}" for words, names in parts.items() if names)
    return f"{label[0].upper()}{label[1:]} against {rival} (p < {P:g}, Holm): {said}."


def _best(methods: Mapping[str, dict[str, MethodAccuracy]], title: str) -> str:
    """Which method of a table is right most often in each experiment."""
    best: dict[str, list[str]] = {}
    for name, by in methods.items():
        means = {label: float(np.nanmean(by[key].accuracy)) for label, key, _ in TABLES[title]}
        top = max(means.values())
        labels = _listed([label for label, mean in means.items() if mean == top])
        best.setdefault(labels, []).append(name)
    said = "; ".join(f"{labels} in {_listed(names)}" for labels, names in best.items())
    return f"{title.split(': ')[1].capitalize()}, right most often: {said}."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
