"""Runs an experiment that may be interrupted: each finished task keeps its result in a file.

The file is named after the task and after everything that shapes its result, so that a changed
setting makes a new file. A task is run again if its file is missing or cannot be read.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xxhash

from recrawl.files import DAMAGED, whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

#: Called with the number of finished tasks, the number of all tasks and a text about the last one.
Progress = Callable[[int, int, str], None]
_UNSAFE = re.compile(r"[^\w.%+-]+")  # in names of files


@dataclass(frozen=True)
class ExperimentTask:
    """A piece of an experiment: `function(shared, *arguments)`.

    For worker processes `function` must be importable by name and `arguments` be picklable.
    """

    key: str  #: unique in its experiment
    settings: str  #: digest of everything that shapes the result, the key aside
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    form: Literal["json", "npz"] = "json"  #: npz: the result is a dict of arrays

    def file(self, folder: Path) -> Path:
        """The file that keeps the result."""
        return folder / f"{self.settings}-{_UNSAFE.sub('-', self.key)}.{self.form}"


def digest(*parts: Any) -> str:
    """A short text that differs where any part differs: arrays by their bytes, others by `repr`.

    >>> digest("one", 2) == digest("one", 2), digest("one", 2) == digest("one", 3)
    (True, False)
    """
    state = xxhash.xxh3_64()
    for part in parts:
        if isinstance(part, np.ndarray):
            state.update(f"{part.dtype}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        else:
            state.update(repr(part).encode())
        state.update(b"\0")
    return state.hexdigest()


def run_experiment(
    tasks: Iterable[ExperimentTask],
    folder: Path,
    *,
    shared: Any = None,
    processes: int = 1,
    progress: Progress | None = None,
    describe: Callable[[str, Any], str] = lambda key, _: key,
) -> dict[str, Any]:
    """The result of each task by its key, in the order of `tasks`, as read from its file.

    `shared` is the first argument of every task; it is sent to each worker process once.
    `describe` turns a key and its result into the text for `progress`.
    """
    tasks = list(tasks)
    files = {task.key: task.file(folder) for task in tasks}
    if len(set(files.values())) < len(tasks):
        raise ValueError("Tasks of an experiment must have different keys.")
    folder.mkdir(parents=True, exist_ok=True)
    results = {key: result for key, file in files.items() if (result := _read(file)) is not None}
    report = progress or (lambda *_: None)
    report(len(results), len(tasks), "")
    waiting = [(task, folder) for task in tasks if task.key not in results]
    for key in _run_all(waiting, shared, processes):
        results[key] = _read(files[key])
        report(len(results), len(tasks), describe(key, results[key]))
    return {task.key: results[task.key] for task in tasks}


def _run_all(
    waiting: Sequence[tuple[ExperimentTask, Path]], shared: Any, processes: int
) -> Iterator[str]:
    """Run tasks and keep their results; yields the key of each when it is finished."""
    processes = min(processes, len(waiting))
    if processes > 1:
        # A Pool: its workers end by themselves when this process is killed.
        with get_context("spawn").Pool(processes, _share, (shared,)) as pool:
            yield from pool.imap_unordered(_run, waiting)
    else:
        _share(shared)
        yield from map(_run, waiting)
        _share(None)


_shared: list[Any] = []  # one value; tasks of a worker process may cache in it


def _share(value: Any) -> None:
    _shared[:] = [value]


def _run(task_and_folder: tuple[ExperimentTask, Path]) -> str:
    task, folder = task_and_folder
    _write(task.function(_shared[0], *task.arguments), task.file(folder))
    return task.key


def _write(result: Any, file: Path) -> None:
    with whole_file(file) as data:
        if file.suffix == ".npz":
            np.savez(data, **result)
        else:
            data.write(json.dumps(result).encode())


def _read(file: Path) -> Any | None:
    """The kept result; None if the file is missing or damaged."""
    try:
        if file.suffix == ".npz":
            with np.load(io.BytesIO(file.read_bytes())) as arrays:
                return dict(arrays)
        return json.loads(file.read_text())
    except DAMAGED:
        return None
