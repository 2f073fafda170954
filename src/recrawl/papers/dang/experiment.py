"""Look back, look around (Dang et al. 2021): which pages get new links, and what tells it?

A trace is crawled weekly; of its pages three quarters teach and one quarter is the test, three
times over. Every step is kept in a file of its own, so that work cut off goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import xxhash

from recrawl.errors import BadInput
from recrawl.papers.dang.models import Experiment, Split

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from recrawl.papers.dang.data import Study
    from recrawl.papers.dang.models import Result

KINDS: Final = ("internal", "external")
REPETITIONS = 3
WORKERS = 2


def told_kinds(study: Study) -> list[str]:
    """The kinds of links of which enough pages show new ones to learn and to test."""
    able = []
    for kind in KINDS:
        came = study.count[kind] > 0
        splits = [Split.of(len(study), seed) for seed in range(REPETITIONS)]
        parts = [part for s in splits for part in (s.train, s.test)] + [splits[0].development]
        if all(2 <= came[part].sum() <= len(part) - 2 for part in parts):
            able.append(kind)
    if not able:
        raise BadInput(
            "Some pages must show new links in the last interval, and some none, for there to be "
            f"anything to tell. Got {', '.join(_share(study, kind) for kind in KINDS)}; "
            "try another --every or --window."
        )
    return able


def _share(study: Study, kind: str) -> str:
    return f"{int((study.count[kind] > 0).sum())} of {len(study)} with new {kind} ones"


def dang(
    study: Study,
    folder: Path,
    *,
    history: int = 8,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, Result]:
    """Run the experiment, or what is left of it: each step's result by its name."""
    kinds, mark = told_kinds(study), _mark(study, history)
    done: dict[str, Result] = {}
    folder.mkdir(parents=True, exist_ok=True)
    total = len(kinds) * (2 + 3 * REPETITIONS)
    # A Pool: its workers end by themselves when this process is killed.
    with get_context("spawn").Pool(WORKERS, _send, (Experiment(study, history),)) as pool:
        for stage in (_tuning, _steps):
            asked = [(folder / f"{mark}-{step.name}.json", step) for step in stage(kinds, done)]
            for name, result in pool.imap_unordered(_run, asked):
                done[name] = result
                if progress:
                    progress(len(done), total, name)
    return done


@dataclass(frozen=True)
class Step:
    """One question to the experiment: the name of its method, and what it is asked with."""

    name: str
    method: str
    asked: tuple[Any, ...]


def _tuning(kinds: list[str], done: dict[str, Result]) -> list[Step]:
    del done
    return [Step(f"{kind}-tune", "tune", (kind,)) for kind in kinds]


def _steps(kinds: list[str], done: dict[str, Result]) -> list[Step]:
    """All that comes after tuning, the longest first."""
    leaf = {kind: done[f"{kind}-tune"]["leaf"] for kind in kinds}
    return [
        *(Step(f"{kind}-importances", "importances", (kind, leaf[kind])) for kind in kinds),
        *(
            Step(f"{kind}-{method}-{seed}", method, (kind, seed, *more))
            for kind in kinds
            for method, more in (
                ("rankings", [leaf[kind]]),
                ("presence", [leaf[kind]]),
                ("rates", []),
            )
            for seed in range(REPETITIONS)
        ),
    ]


_sent: list[Experiment] = []  # in a worker the one experiment, which keeps what it worked out


def _send(experiment: Experiment) -> None:
    _sent[:] = [experiment]


def _run(asked: tuple[Path, Step]) -> tuple[str, Result]:
    """The result of a step, made or read."""
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    file, step = asked
    if not file.exists():
        unfinished = file.with_suffix(".part")
        # Threads of two workers would wait for each other. NGBoost tries steps that are too long.
        with threadpool_limits(1), parallel_config("threading"), np.errstate(all="ignore"):
            unfinished.write_text(json.dumps(getattr(_sent[0], step.method)(*step.asked)))
        unfinished.replace(file)
    return step.name, json.loads(file.read_text())


def _mark(study: Study, history: int) -> str:
    """All that results depend on, as one word."""
    look = study.look
    parts = [*study.rate.values(), *study.count.values(), study.changed, look.vectors]
    parts += [part for crawl in look.crawls for part in (crawl.bytes, crawl.trusted)]
    data = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    settings = f"{history} {look.strict} {look.unit} {len(look.intervals)}".encode()
    return xxhash.xxh3_64_hexdigest(data + settings)
