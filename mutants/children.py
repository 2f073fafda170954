"""Runs pytest in a child made by fork: the libraries are imported once, recrawl in each child."""

from __future__ import annotations

import math
import os
import resource
import signal
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

MEMORY = 8 << 30  #: bytes; a mutant that asks for more has failed
TIMED_OUT = -1  #: exit code of a child that was stopped
WAITING = 20  #: a child may wait this many times its seconds, for a busy processor or a lock


def preload() -> None:
    """Import what every child needs. One thread each: threads do not survive a fork."""
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = "1"
    import duckdb
    import faiss
    import hypothesis.extra.numpy
    import numba
    import pyarrow.parquet
    import scipy.optimize
    import scipy.sparse.linalg
    import sklearn.svm

    del duckdb, faiss, hypothesis, numba, pyarrow, scipy, sklearn


def in_child(work: Callable[[], int], seconds: float) -> int:
    """Exit code of `work` in a child of its own, or TIMED_OUT after seconds of processor time."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            limit = math.ceil(time.process_time() + seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            code = work()
        except BaseException:  # noqa: BLE001 (the child must not return into the parent's code)
            traceback.print_exc()
        finally:
            os._exit(code)
    deadline = time.monotonic() + WAITING * seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return TIMED_OUT if code == -signal.SIGXCPU else abs(code)
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return TIMED_OUT


def in_workers(workers: int, work: Callable[[int], None]) -> None:
    """Let each worker do its work, in a process of its own, given its number."""
    pids = []
    for worker in range(workers):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                work(worker)
                code = 0
            except BaseException:  # noqa: BLE001 (the worker must not return into the caller's code)
                traceback.print_exc()
            finally:
                os._exit(code)
        pids.append(pid)
    failed = [pid for pid in pids if os.waitpid(pid, 0)[1]]
    if failed:
        raise SystemExit("a worker stopped early; run the command again to go on")


def run_tests(tree: Path, tests: Sequence[str], log: Path, plugins: Iterable[Any] = ()) -> int:
    """Exit code of pytest on some tests of a tree. To be called in a child."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(tree)
    sys.path[:0] = [str(tree / "src"), str(tree / "tests"), str(tree)]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:3])
    options = ["--exitfirst", "-p", "no:cacheprovider", "--tb=line", "-rfE"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is preloaded
    return int(pytest.main([*options, *tests], [*plugins]))


def freeze_kernels(
    tree: Path, stamps: dict[str, int], stale: set[tuple[str, str]] | None = None
) -> None:
    """Let numba load what it compiled of the unbroken tree; if some are stale, not those.

    numba asks for the time and size of the file, and does not see that a function called has
    changed. Here the stamp of a file is that of the unbroken one, and `stale` says the rest.
    """
    from numba.core import caching, dispatcher

    locator: Any = caching._SourceFileBackedLocatorMixin
    kernel: Any = dispatcher.Dispatcher
    cache: Any = caching.Cache
    names = {
        (path.removeprefix("src/")[:-3].replace("/", "."), where) for path, where in stale or ()
    }
    enable = kernel.enable_caching

    def enable_caching(self: Any) -> None:
        if (self.py_func.__module__, self.py_func.__qualname__) not in names:
            enable(self)

    def source_stamp(self: Any) -> tuple[int, int]:
        return stamps.get(os.path.relpath(self._py_file, tree), 0), 0

    kernel.enable_caching = enable_caching
    locator.get_source_stamp = source_stamp
    if stale is not None:  # keep nothing of a broken tree
        sys.dont_write_bytecode = True
        cache.save_overload = lambda *_: None
