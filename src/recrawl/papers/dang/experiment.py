"""Look back, look around (Dang et al. 2021): which pages get new links, and what predicts it?

A trace is crawled weekly. Three quarters of its pages are for training and one quarter for the
test, three times over. Results are kept in a folder; an interrupted experiment continues from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.errors import BadInput
from recrawl.lab.experiment import ExperimentTask, digest, run_experiment
from recrawl.lab.learners import load_libraries
from recrawl.papers.dang.models import Experiment, Split

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.lab.experiment import Progress
    from recrawl.papers.dang.data import Study
    from recrawl.papers.dang.models import Result

KINDS: Final = ("internal", "external")
REPETITIONS = 3
WORKERS = 2


def predictable_kinds(study: Study) -> list[str]:
    """The kinds of links with enough pages that show new ones, to train and to test."""
    kinds = []
    for kind in KINDS:
        came = study.count[kind] > 0
        splits = [Split.of(len(study), seed) for seed in range(REPETITIONS)]
        parts = [part for s in splits for part in (s.train, s.test)] + [splits[0].development]
        if all(2 <= came[part].sum() <= len(part) - 2 for part in parts):
            kinds.append(kind)
    if not kinds:
        raise BadInput(
            "Some pages must show new links in the last interval, and some none, for there to be "
            f"anything to predict. Got {', '.join(_share(study, kind) for kind in KINDS)}; "
            "try another --every or --window."
        )
    return kinds


def _share(study: Study, kind: str) -> str:
    return f"{int((study.count[kind] > 0).sum())} of {len(study)} with new {kind} ones"


def dang(
    study: Study, folder: Path, *, history: int = 8, progress: Progress | None = None
) -> dict[str, Result]:
    """Run what is left of the experiment: the result of each step by its name."""
    kinds, settings = predictable_kinds(study), _settings(study, history)
    total = len(kinds) * (2 + 3 * REPETITIONS)
    results: dict[str, Result] = {}

    def report(done: int, _: int, key: str) -> None:
        if progress is not None:
            progress(len(results) + done, total, key)

    for steps in (_tuning, _after_tuning):
        tasks = [
            ExperimentTask(name, settings, _run, (method, *arguments))
            for name, method, *arguments in steps(kinds, results)
        ]
        results |= run_experiment(
            tasks, folder, shared=Experiment(study, history), processes=WORKERS, progress=report
        )
    return results


def _tuning(kinds: list[str], results: dict[str, Result]) -> list[tuple[Any, ...]]:
    """Steps: the name, the method of `Experiment` and its arguments."""
    del results
    return [(f"{kind}-tune", "tune", kind) for kind in kinds]


def _after_tuning(kinds: list[str], results: dict[str, Result]) -> list[tuple[Any, ...]]:
    """The steps that need the tuned leaves, the longest first."""
    leaf = {kind: results[f"{kind}-tune"]["leaf"] for kind in kinds}
    return [
        *((f"{kind}-importances", "importances", kind, leaf[kind]) for kind in kinds),
        *(
            (f"{kind}-{method}-{seed}", method, kind, seed, *more)
            for kind in kinds
            for method, more in (
                ("rankings", [leaf[kind]]),
                ("presence", [leaf[kind]]),
                ("rates", []),
            )
            for seed in range(REPETITIONS)
        ),
    ]


def _run(experiment: Experiment, method: str, *arguments: Any) -> Result:
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    load_libraries()  # before the limit, which does not hold for libraries loaded later
    # Threads of two workers would wait for each other. NGBoost tries steps that are too long.
    with threadpool_limits(1), parallel_config("threading"), np.errstate(all="ignore"):
        result: Result = getattr(experiment, method)(*arguments)
    return result


def _settings(study: Study, history: int) -> str:
    """The digest of everything that shapes the results."""
    snapshot = study.snapshot
    parts = [*study.rate.values(), *study.count.values(), study.changed, snapshot.vectors]
    parts += [part for crawl in snapshot.crawls for part in (crawl.bytes, crawl.trusted)]
    return digest(*parts, history, snapshot.strict, snapshot.unit, len(snapshot.intervals))
