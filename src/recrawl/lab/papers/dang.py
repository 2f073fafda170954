"""Look back, look around (Dang et al. 2021): which pages get new links, and what tells it?

A trace is crawled weekly; of its pages three quarters teach and one quarter is the test, three
times over. Every step is kept in a file of its own, so that work cut off goes on.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import xxhash

from recrawl.errors import BadInput
from recrawl.lab.papers.dang_models import Experiment, Split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recrawl.lab.papers.dang_data import Study
    from recrawl.lab.papers.dang_models import Result

KINDS: Final = ("internal", "external")
REPETITIONS = 3


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
    experiment, kinds, mark = Experiment(study, history), told_kinds(study), _mark(study, history)
    folder.mkdir(parents=True, exist_ok=True)
    done: dict[str, Result] = {}
    total = len(kinds) * (2 + 3 * REPETITIONS)
    for kind in kinds:
        for name, step in _steps(experiment, kind, done):
            if progress:
                progress(len(done), total, name)
            file = folder / f"{mark}-{name}.json"
            if not file.exists():
                unfinished = file.with_suffix(".part")
                unfinished.write_text(json.dumps(step()))
                unfinished.replace(file)
            done[name] = json.loads(file.read_text())
    if progress:
        progress(total, total, "")
    return done


def _steps(
    experiment: Experiment, kind: str, done: dict[str, Result]
) -> Iterator[tuple[str, Callable[[], Result]]]:
    """Each step by name. What tuning found is in `done` by the time the next is asked for."""
    yield f"{kind}-tune", partial(experiment.tune, kind)
    leaf = done[f"{kind}-tune"]["leaf"]
    for seed in range(REPETITIONS):
        yield f"{kind}-rates-{seed}", partial(experiment.rates, kind, seed)
        yield f"{kind}-presence-{seed}", partial(experiment.presence, kind, seed, leaf)
        yield f"{kind}-rankings-{seed}", partial(experiment.rankings, kind, seed, leaf)
    yield f"{kind}-importances", partial(experiment.importances, kind, leaf)


def _mark(study: Study, history: int) -> str:
    """All that results depend on, as one word."""
    look = study.look
    parts = [*study.rate.values(), *study.count.values(), study.changed, look.vectors]
    data = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    settings = f"{history} {look.strict} {look.unit} {len(look.intervals)}".encode()
    return xxhash.xxh3_64_hexdigest(data + settings)
