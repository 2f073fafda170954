"""Radinsky & Bennett (2013): do related pages tell when a page will change?

Every page is foretold for the last `days` days of the trace, each from the `n` days before it. What
is done is kept by parts of the pages, so that work cut off goes on.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash
from scipy.sparse import csr_matrix

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
from recrawl.papers.radinsky.series.snapshots import Snapshots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray

WORKERS = 2
PART = 10  #: pages of a part
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
    progress: Callable[[int, int, str], None] | None = None,
) -> Found:
    """Run the experiment, or what is left of it; `folder` keeps what is done."""
    material = prepare(trace, protocol)
    tasks = list(_tasks(material, folder, protocol))
    waiting = [task for task in tasks if not task.file.exists()]
    tell = progress or (lambda *_: None)
    tell(len(tasks) - len(waiting), len(tasks), "")
    if waiting:
        _save(material, folder / "material.npz")
        _said(material, 0, replace(protocol, figures=False))  # compiles, once for all workers
        with get_context("spawn").Pool(min(WORKERS, len(waiting))) as pool:
            for done, part in enumerate(pool.imap_unordered(_run, waiting), 1):
                tell(len(tasks) - len(waiting) + done, len(tasks), part)
    parts = [np.load(task.file) for task in tasks]
    said = {name: np.concatenate([part[name] for part in parts]) for name in parts[0].files}
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


@dataclass(frozen=True)
class Task:
    """Some of the pages."""

    rows: tuple[int, int]
    protocol: Protocol
    folder: Path
    file: Path  #: named after all that the result depends on


def _tasks(material: ExperimentData, folder: Path, protocol: Protocol) -> Iterator[Task]:
    folder.mkdir(parents=True, exist_ok=True)
    data = xxhash.xxh3_64(material.snapshots.counts.data.tobytes())
    related = [column for near in material.related.values() for column in (near.row, near.weight)]
    for column in (material.snapshots.copy, material.changed, *related):
        data.update(np.ascontiguousarray(column).tobytes())
    data.update(str(asdict(protocol)).encode())
    for begin in range(0, len(material.changed), PART):
        end = min(begin + PART, len(material.changed))
        yield Task((begin, end), protocol, folder, folder / f"{data.hexdigest()}-{begin}.npz")


def _run(task: Task) -> str:
    """One part, in a process of its own; kept whole or not at all."""
    material = _loaded(task.folder / "material.npz")
    rows = [_said(material, target, task.protocol) for target in range(*task.rows)]
    unfinished = task.file.with_suffix(".part.npz")
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    np.savez(unfinished, **columns)
    unfinished.replace(task.file)
    return f"pages {task.rows[0] + 1} to {task.rows[1]}"


def _save(material: ExperimentData, file: Path) -> None:
    counts = material.snapshots.counts
    columns: dict[str, Any] = {
        "data": counts.data, "indices": counts.indices, "indptr": counts.indptr,
        "shape": counts.shape, "copy": material.snapshots.copy, "changed": material.changed,
    }  # fmt: skip
    for name, near in material.related.items():
        columns |= {f"{name} row": near.row, f"{name} weight": near.weight}
    given = material.setup
    columns |= {"days": given.days, "given": [given.n, given.window, given.ahead]}
    np.savez(file, **columns)


def _loaded(file: Path) -> ExperimentData:
    kept = np.load(file)
    counts = csr_matrix((kept["data"], kept["indices"], kept["indptr"]), shape=kept["shape"])
    ways = {way: Neighbours(kept[f"{way} row"], kept[f"{way} weight"]) for way in SELECTIONS}
    setup = Setup(kept["days"], *kept["given"].tolist())
    return ExperimentData(Snapshots(counts, kept["copy"]), kept["changed"], ways, setup, 0, 0)
