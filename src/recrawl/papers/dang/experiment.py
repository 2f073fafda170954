"""Look back, look around (Dang et al. 2021): which pages get new links, and what predicts it?

A trace is crawled weekly. Three quarters of its pages are for training, a third of them also for
tuning, and one quarter for the test; all that three times over. Results are kept in a folder; an
interrupted experiment continues from them.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.errors import BadInput
from recrawl.lab.experiment import ExperimentTask, digest, run_experiment
from recrawl.lab.learners import load_libraries
from recrawl.papers.dang.crawls import Crawl
from recrawl.papers.dang.models import Experiment, Split

if TYPE_CHECKING:
    from collections.abc import Mapping
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
        parts = [part for s in splits for part in (s.train, s.test, s.development)]
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
    study: Study,
    folder: Path,
    *,
    history: int = 8,
    ngboost: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> dict[str, Result]:
    """Run what is left of the experiment: the result of each step by its name.

    `ngboost` are settings of that learner, where they differ from its defaults.
    """
    experiment = Experiment(study, history, dict(ngboost or {}))
    kinds, settings = predictable_kinds(study), _settings(experiment)
    tasks = [
        ExperimentTask(f"{kind}-{step}-{seed}", settings, _run, (step, kind, seed))
        for step in ("rankings", "presence", "rates")  # the longest first
        for seed in range(REPETITIONS)
        for kind in kinds
    ]
    return run_experiment(tasks, folder, shared=experiment, processes=WORKERS, progress=progress)


def _run(experiment: Experiment, method: str, *arguments: Any) -> Result:
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    load_libraries()  # before the limit, which does not hold for libraries loaded later
    # Threads of two workers would wait for each other. NGBoost tries steps that are too long.
    with threadpool_limits(1), parallel_config("threading"), np.errstate(all="ignore"):
        result: Result = getattr(experiment, method)(*arguments)
    return result


def _settings(experiment: Experiment) -> str:
    """The digest of everything that shapes the results."""
    study, snapshot = experiment.study, experiment.study.snapshot
    parts: list[Any] = [*study.rate.values(), *study.count.values(), study.changed]
    parts += [snapshot.near.row, snapshot.near.weight, snapshot.strict, snapshot.unit]
    names = [field.name for field in fields(Crawl) if field.name != "urls"]
    parts += [getattr(crawl, name) for crawl in snapshot.crawls for name in names]
    return digest(*parts, experiment.history, sorted(experiment.ngboost.items()))
