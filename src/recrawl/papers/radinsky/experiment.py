"""Radinsky & Bennett (2013): do related pages tell when a page will change?

Predicts the changes of every page on each of the last `days` days of the trace, from the `n` days
before. Results are kept in a folder; an interrupted experiment continues from them.
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
    Protocol,
    prepare,
)
from recrawl.papers.radinsky.pooled import pooled_boosting

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.lab.experiment import Progress
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray

WORKERS = 2
PAGES_PER_TASK = 10
SELECTIONS = ("graph", "content", "correlation", "warping")
MAIN = "correlation"  #: how experts are chosen where the paper does not say otherwise


@dataclass(frozen=True)
class Found:
    """What every method said: above 0 for a change, a row a page, a column a day."""

    protocol: Protocol
    said: dict[str, FloatArray]
    truth: FloatArray  #: NaN where nobody knows
    n_passing: int
    n_present: int


def radinsky(
    trace: Trace,
    folder: Path,
    protocol: Protocol,
    *,
    progress: Progress | None = None,
) -> Found:
    """Run what is left of the experiment; `folder` keeps the results."""
    material = prepare(trace, protocol)
    settings, n = _settings(material, protocol), len(material.changed)
    tasks = [
        ExperimentTask(f"pages-{targets[0]}", settings, _run, (targets, protocol), "npz")
        for targets in (range(n)[i : i + PAGES_PER_TASK] for i in range(0, n, PAGES_PER_TASK))
    ]
    parts = run_experiment(
        tasks, folder, shared=material, processes=WORKERS, progress=progress
    ).values()
    names = next(iter(parts))
    said = {name: np.concatenate([part[name] for part in parts]) for name in names}
    said["boosting over all"] = pooled_boosting(
        material.pages, _main(material, protocol), material.setup
    )
    return Found(protocol, said, material.truth, material.n_passing, material.n_present)


def _main(material: ExperimentData, protocol: Protocol) -> Neighbours:
    near = material.related[MAIN]
    return Neighbours(near.row[:, : protocol.k], near.weight[:, : protocol.k])


def _said(material: ExperimentData, target: int, protocol: Protocol) -> dict[str, FloatArray]:
    """What every method says of one page."""
    label, setup = material.changed[target], material.setup
    seen = Views(material, target)
    out = {"1D": change_frequency(label, setup) - 0.5, "2D": seen.said(target, setup)}
    for way in SELECTIONS:
        out[way] = seen.voted(way, protocol.k, setup)
    whole = relational_union([seen.feature_products(e) for e in seen.experts(MAIN, protocol.k)[0]])
    out["union"] = single_expert(whole, label, setup)
    out["bagging"] = bagging(whole, label, setup, seed=protocol.seed)
    out["boosting"] = adaboost(whole, label, setup)
    if protocol.figures:
        for k in EXPERT_COUNTS:
            out[f"k={k}"] = seen.voted(MAIN, k, setup)
        for n in (size for size in TRAINING_SIZES if size <= setup.days[0]):
            other = replace(setup, n=n)
            out[f"n={n} 1D"] = change_frequency(label, other) - 0.5
            out[f"n={n} 2D"] = seen.said(target, other)
            out[f"n={n} 3D"] = seen.voted(MAIN, protocol.k, other)
    return out


class Views:
    """Pages as one target sees them; each is looked at once."""

    def __init__(self, material: ExperimentData, target: int) -> None:
        self.material = material
        self.target = target
        self._views: dict[int, FeatureProducts] = {}
        self._said: dict[tuple[int, int], FloatArray] = {}

    def feature_products(self, expert: int) -> FeatureProducts:
        if expert not in self._views:
            pages = self.material.pages
            other = None if expert == self.target else pages[expert]
            self._views[expert] = feature_products(pages[self.target], other, self.material.setup)
        return self._views[expert]

    def said(self, expert: int, setup: Setup) -> FloatArray:
        key = (expert, setup.n)
        if key not in self._said:
            label = self.material.changed[self.target]
            self._said[key] = single_expert(self.feature_products(expert), label, setup)
        return self._said[key]

    def experts(self, way: str, k: int) -> tuple[list[int], FloatArray]:
        """The page itself, which weighs 1, and the k most related."""
        near = self.material.related[way]
        row, weight = near.row[self.target, :k], near.weight[self.target, :k]
        return [self.target, *row[row >= 0].tolist()], np.append(1.0, weight[row >= 0])

    def voted(self, way: str, k: int, setup: Setup) -> FloatArray:
        rows, weight = self.experts(way, k)
        return weighted_vote(np.array([self.said(e, setup) for e in rows]), weight) - 0.5


def _settings(material: ExperimentData, protocol: Protocol) -> str:
    """The digest of everything that shapes the results."""
    snapshots = material.snapshots
    related = [column for near in material.related.values() for column in (near.row, near.weight)]
    arrays = (snapshots.counts.data, snapshots.copy, material.changed, *related)
    return digest(*arrays, asdict(protocol))


def _run(material: ExperimentData, targets: range, protocol: Protocol) -> dict[str, FloatArray]:
    rows = [_said(material, target, protocol) for target in targets]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
