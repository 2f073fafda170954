"""Start-up: CPU time of a new process before it does anything."""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.harness import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 9
EVERYTHING = "import recrawl; [getattr(recrawl, name) for name in recrawl.__all__]"


def cpu_seconds(*words: str) -> float:
    """User and system time of `python WORDS…`: the least of several runs."""
    return min(_cpu_seconds(words) for _ in range(ROUNDS))


def _cpu_seconds(words: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def figures() -> Iterator[Figure]:
    bare = cpu_seconds("-c", "pass")
    yield Figure("Python alone", f"{bare:.3f} s")
    eager = cpu_seconds("-c", EVERYTHING)
    yield Figure("`import recrawl`, and every public name used", f"{eager:.3f} s")
    lazy = cpu_seconds("-c", "import recrawl")
    share = f"{lazy:.3f} s, {lazy / eager:.2f} of the line above"
    yield Figure("`import recrawl`", share, "< 0.35")
    eager_help = cpu_seconds("-c", f"{EVERYTHING}; import sys; sys.argv = ['recrawl', '--help']; "
                             "from recrawl.cli import main; main()")  # fmt: skip
    yield Figure("`recrawl --help`, and every public name used", f"{eager_help:.3f} s")
    shown = cpu_seconds("-m", "recrawl", "--help")
    share = f"{shown:.3f} s, {shown / eager_help:.2f} of the line above"
    yield Figure("`recrawl --help`", share, "< 0.35")
