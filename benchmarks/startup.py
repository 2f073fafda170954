"""Start-up: CPU time of a new process before it does anything, and of a first plan."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from recrawl.page.responses import Response

ROUNDS = 9
EVERYTHING = "import recrawl; [getattr(recrawl, name) for name in recrawl.__all__]"
PAGES, DAYS, WORDS = 2_000, 8, 300  #: of the store that is planned for first, and of its texts
BEGIN = 1_699_920_000  #: 2023-11-14
PLAN_ROUNDS = 3


def cpu_seconds(*words: str) -> float:
    """User and system time of `python WORDS…`: the least of several runs."""
    return min(_cpu_seconds(words) for _ in range(ROUNDS))


def _cpu_seconds(words: tuple[str, ...], settings: Mapping[str, str] | None = None) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | (settings or {})
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_plans(folder: Path) -> tuple[float, float]:
    """CPU seconds of the first plan of a store: on a new machine, and with kernels compiled."""
    fill_store(folder / "store", PAGES)
    new: list[float] = []
    compiled: list[float] = []
    for i in range(PLAN_ROUNDS):
        for took in (new, compiled):
            shutil.rmtree(folder / "copy", ignore_errors=True)
            shutil.copytree(folder / "store", folder / "copy")  # a plan keeps what it learned
            words = ("-m", "recrawl", "plan", str(folder / "copy"), "--now", "2023-11-24")
            took.append(_cpu_seconds(words, {"NUMBA_CACHE_DIR": str(folder / f"kernels-{i}")}))
    return min(new), min(compiled)


def fill_store(path: Path, n_pages: int) -> None:
    """A store of pages that were visited each day; the pages of a directory are alike."""
    from recrawl.history import Store
    from recrawl.page.responses import to_visits

    store = Store.open(path, create=True)
    for day in range(DAYS):
        store.append(to_visits([_visit(page, day) for page in range(n_pages)]))
    store.close()


def _visit(page: int, day: int) -> Response:
    from recrawl.page.responses import Response

    directory = page // 10
    version = (day + directory) // (1 + directory % 9 + page % 3)
    random = np.random.default_rng((page, version))
    words = (f"word{n}" for n in random.integers(0, 40, WORDS) + directory % 100 * 10)
    body = f"<title>{page}</title><p>{' '.join(words)}</p><a href='{page + 1}'>next</a>"
    return Response(
        f"http://host{directory % 40}.example/{directory}/{page}",
        BEGIN + day * 86_400 + page % 3_600,
        200,
        {"content-type": "text/html"},
        body.encode(),
    )


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
    with TemporaryDirectory() as folder:
        new, compiled = first_plans(Path(folder))
    what = f"first plan of {PAGES:,} pages with {DAYS} visits each"
    yield Figure(f"{what}, on a new machine", f"{new:.1f} s", "< 5 s")
    yield Figure(f"{what}, kernels compiled before", f"{compiled:.1f} s")
