"""The experiment of §8.1 and §8.2: every method predicts the changes of every page, day by day.

Predicts each of the last `days` days of the trace from the `n` days before it. A folder keeps
results; an interrupted experiment continues from them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl.lab.experiment import ExperimentTask, digest, run_experiment
from recrawl.model import Neighbours
from recrawl.papers.radinsky.algorithms import (
    FeatureProducts,
    Setup,
    adaboost,
    bagging,
    change_frequency,
    feature_products,
    relational_union,
    single_expert,
    weighted_vote,
)
from recrawl.papers.radinsky.data import (
    EXPERT_COUNTS,
    TRAINING_SIZES,
    ExperimentData,
    PredictionProtocol,
    prepare,
)
from recrawl.papers.radinsky.pooled import pooled_boosting

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.lab.experiment import Progress
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray, IntArray

WORKERS = 2
PAGES_PER_TASK = 10
SELECTIONS = ("graph", "content", "correlation", "warping")
MAIN = "correlation"  #: how experts are selected, except in Table 3


@dataclass(frozen=True)
class Predictions:
    """Decision values of each method, pages × days; above 0 predicts a change."""

    protocol: PredictionProtocol
    decisions: dict[str, FloatArray]
    truth: FloatArray  #: NaN where unknown
    n_passing: int
    n_present: int
    urls: list[str]  #: of the targets and their experts, by row
    target: IntArray  #: row of each target
    related: dict[str, Neighbours]  #: by selection method: the experts of each target


def predict_changes(
    trace: Trace, folder: Path, protocol: PredictionProtocol, *, progress: Progress | None = None
) -> Predictions:
    """Run what is left of the experiment; `folder` keeps the results."""
    data = prepare(trace, protocol)
    settings, n = _settings(data, protocol), len(data.target)
    tasks = [
        ExperimentTask(f"pages-{targets[0]}", settings, _predict, (targets, protocol), "npz")
        for targets in (range(n)[i : i + PAGES_PER_TASK] for i in range(0, n, PAGES_PER_TASK))
    ]
    results = run_experiment(tasks, folder, shared=data, processes=WORKERS, progress=progress)
    parts = list(results.values())
    decisions = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    experts, k = data.related[MAIN], protocol.k
    experts = Neighbours(experts.row[:, :k], experts.weight[:, :k])
    decisions["boosting over all"] = pooled_boosting(data, experts)
    return Predictions(
        protocol,
        decisions,
        data.truth,
        data.n_passing,
        data.n_present,
        [trace.urls[page] for page in data.page],
        data.target,
        data.related,
    )


def _settings(data: ExperimentData, protocol: PredictionProtocol) -> str:
    """Digest of everything that shapes the results."""
    snapshots = data.snapshots
    related = [column for near in data.related.values() for column in (near.row, near.weight)]
    arrays = (snapshots.counts.data, snapshots.copy, data.changed, data.target, *related)
    return digest(*arrays, asdict(protocol))


def _predict(
    data: ExperimentData, targets: range, protocol: PredictionProtocol
) -> dict[str, FloatArray]:
    """Decision values of every method for some targets."""
    rows = [_predict_page(TargetExperts(data, target), protocol) for target in targets]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _predict_page(page: TargetExperts, protocol: PredictionProtocol) -> dict[str, FloatArray]:
    label, setup, k = page.label, page.data.setup, protocol.k
    out = {"1D": change_frequency(label, setup) - 0.5, "2D": page.decisions(page.row, setup)}
    without = feature_products(page.days, None, setup, with_words=False)
    out["2D without f2"] = single_expert(without, label, setup)
    for selection in SELECTIONS:
        out[selection] = page.vote(selection, k, setup)
    union = relational_union([page.features(e) for e in page.experts(MAIN, k)[0]])
    out["union"] = single_expert(union, label, setup)
    out["bagging"] = bagging(union, label, setup, seed=protocol.seed)
    out["boosting"] = adaboost(union, label, setup)
    if protocol.figures:
        for count in EXPERT_COUNTS:
            out[f"k={count}"] = page.vote(MAIN, count, setup)
        for n in (size for size in TRAINING_SIZES if size <= setup.days[0]):
            other = replace(setup, n=n)
            out[f"n={n} 1D"] = change_frequency(label, other) - 0.5
            out[f"n={n} 2D"] = page.decisions(page.row, other)
            out[f"n={n} 3D"] = page.vote(MAIN, k, other)
    return out


class TargetExperts:
    """The experts of one target; features and decisions of each are computed once."""

    def __init__(self, data: ExperimentData, target: int) -> None:
        self.data = data
        self.target = target  #: its number among the targets
        self.row = int(data.target[target])
        self.label = data.changed[self.row]
        self.days = data.days(self.row)
        self._features: dict[int, FeatureProducts] = {}
        self._decisions: dict[tuple[int, int], FloatArray] = {}

    def features(self, expert: int) -> FeatureProducts:
        if expert not in self._features:
            other = None if expert == self.row else self.data.days(expert)
            self._features[expert] = feature_products(self.days, other, self.data.setup)
        return self._features[expert]

    def decisions(self, expert: int, setup: Setup) -> FloatArray:
        """Decision value of one expert on each day."""
        key = (expert, setup.n)
        if key not in self._decisions:
            self._decisions[key] = single_expert(self.features(expert), self.label, setup)
        return self._decisions[key]

    def experts(self, selection: str, k: int) -> tuple[list[int], FloatArray]:
        """The target itself, with weight 1, and the k most related pages; their weights."""
        near = self.data.related[selection]
        row, weight = near.row[self.target, :k], near.weight[self.target, :k]
        return [self.row, *row[row >= 0].tolist()], np.append(1.0, weight[row >= 0])

    def vote(self, selection: str, k: int, setup: Setup) -> FloatArray:
        """Weighted vote of the experts on each day, less a half."""
        rows, weight = self.experts(selection, k)
        return weighted_vote(np.array([self.decisions(e, setup) for e in rows]), weight) - 0.5
