"""Replays on real traces whose scores are kept in a folder, for docs/results.md and docs/choosing.md."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recrawl import units
from recrawl.lab.bounds import clairvoyant
from recrawl.lab.delays import links_found
from recrawl.lab.metrics import daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.traces import open_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.lab.trace import Trace

TRACES = Path("../shared/traces")
VERSIONS = "versions.parquet"
PROCESSES = 2
Scores = dict[str, float]  #: by metric; the most any schedule could reach is `limit <metric>`


def trace_folders(page: Path) -> list[Path]:
    """The folders of the traces; ends the program if there are none to write the page from."""
    folders = sorted(file.parent for file in TRACES.glob(f"*/{VERSIONS}"))
    if not folders:
        sys.exit(f"No traces in {TRACES}; {page} stays as it is.")
    return folders


@lru_cache(maxsize=1)  # tasks come trace by trace
def opened(folder: Path) -> Trace:
    return open_trace(folder)


def scores(trace: Trace, policy: str, budget: str, *, parts: int = 1, seed: int = 0) -> Scores:
    """The metrics of one replay, and their limits."""
    log = replay(trace, policy, units.budget(budget), parts=parts, seed=seed)
    limits = clairvoyant(trace, log, log.spent())
    return (
        summary(daily(trace, log))
        | links_found(trace, log)
        | {f"limit {metric}": value for metric, value in limits.items()}
    )


def mean(runs: Sequence[Scores]) -> Scores:
    """The mean of each metric."""
    return {metric: float(np.mean([run[metric] for run in runs])) for metric in runs[0]}


def report(done: int, total: int, text: str) -> None:
    print(f"{done} of {total} {text}", file=sys.stderr, flush=True)
