"""Which tests run which functions, and for how long: recorded once for each test file."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import coverage
import pytest

from mutants.children import freeze_kernels, in_child, in_workers, run_tests

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mutants.definitions import Definitions

#: Tests of processes, documents and tools; they run long, or not the algorithms.
LEFT_OUT = (
    "tests/e2e/",
    "tests/golden/test_docs.py",
    "tests/unit/test_benchmarks.py",
    "tests/unit/test_mutants.py",
    "tests/unit/test_torture.py",
    "tests/contract/test_door.py",  # polars hangs in a process that is forked
    "tests/contract/test_walls.py",
    "tests/contract/test_without_papers.py",
)
MAX_RECORDING_SECONDS = 300  #: of a test file; its tests that finished until then are used
MAX_SECONDS = 20  #: of tests that run a mutant, as recorded
MAX_OTHER_SECONDS = 5  #: of other tests of their files


@dataclass(frozen=True)
class Test:
    """A test that passes."""

    id: str
    seconds: float
    runs: frozenset[tuple[str, str]]  #: (path, name) of functions

    @property
    def file(self) -> str:
        return self.id.split("::")[0]


class Recorder:
    """A pytest plugin that writes a line for each test that passes."""

    def __init__(self, tree: Path, definitions: Definitions, out: Path) -> None:
        self.tree, self.definitions, self.out = tree, definitions, out
        self.lines: dict[str, dict[int, str]] = {}
        self.failed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        measured = coverage.Coverage(
            data_file=None, config_file=False, source=[str(self.tree / "src")]
        )
        measured.set_option("run:disable_warnings", ["no-data-collected"])
        self.failed = False
        began = time.process_time()
        measured.start()
        result = yield
        measured.stop()
        if not self.failed:
            runs = sorted(self.functions(measured.get_data()))
            row = {"id": item.nodeid, "seconds": time.process_time() - began, "runs": runs}
            with self.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed = self.failed or not report.passed

    def functions(self, data: Any) -> set[tuple[str, str]]:
        runs = set()
        for file in data.measured_files():
            path = file.removeprefix(f"{self.tree}/")
            if path not in self.lines:
                self.lines[path] = self.definitions.lines(path)
            names = self.lines[path]
            runs |= {(path, names[line]) for line in data.lines(file) if line in names}
        return runs


def test_files(tree: Path, folders: tuple[str, ...]) -> list[str]:
    """Test files, and modules of some folders whose documentation is tested."""
    paths = sorted((tree / "tests").rglob("test_*.py"), reverse=True)  # unit tests first
    tests = [str(path.relative_to(tree)) for path in paths]
    modules = [path for folder in folders for path in sorted((tree / folder).rglob("*.py"))]
    examples = [str(path.relative_to(tree)) for path in modules if ">>> " in path.read_text()]
    return [path for path in tests if not path.startswith(LEFT_OUT)] + examples


def record(
    trees: list[Path],
    kept: Path,
    files: list[str],
    definitions: Definitions,
    stamps: dict[str, int],
) -> list[Test]:
    """The tests of some files, recorded in several trees at once, each by a worker of its own.

    What was recorded of a file that is the same now is kept.
    """
    kept.mkdir(exist_ok=True)
    done = {file: kept / f"{file_digest(trees[0] / file)}.jsonl" for file in files}
    left = [file for file in files if not done[file].exists()]

    def work(worker: int) -> None:
        for file in left[worker :: len(trees)]:
            print(f"recording {file}", flush=True)
            _record_file(file, trees[worker], done[file], definitions, stamps)

    in_workers(len(trees), work)
    rows = [json.loads(line) for file in files for line in done[file].read_text().splitlines()]
    return [
        Test(row["id"], row["seconds"], frozenset((path, where) for path, where in row["runs"]))
        for row in rows
    ]


def _record_file(
    file: str, tree: Path, done: Path, definitions: Definitions, stamps: dict[str, int]
) -> None:
    """Run the tests of a file, and write a line for each that passes."""
    partial = done.with_suffix(".partial")
    partial.write_text("")

    def work() -> int:
        freeze_kernels(tree, stamps)
        plugin = Recorder(tree, definitions, partial)
        return run_tests(tree, ["--maxfail=1000", file], done.with_suffix(".log"), [plugin])

    code = in_child(work, MAX_RECORDING_SECONDS)
    if code not in (0, 5):
        print(f"  {file}: exit code {code}; its tests that passed are used", flush=True)
    partial.rename(done)


def file_digest(path: Path) -> str:
    """Of a file's name and what is in it."""
    return hashlib.sha256(f"{path.name}\0".encode() + path.read_bytes()).hexdigest()[:16]


def choose(tests: list[Test], wanted: set[tuple[str, str]]) -> list[Test]:
    """Tests that run a wanted function, then others of their files, which may share what ran.

    The fastest first, up to their limits. A mutant that only slower tests would notice survives.
    """
    covering = [test for test in tests if test.runs & wanted]
    files = {test.file for test in covering}
    others = [test for test in tests if test.file in files and not test.runs & wanted]
    chosen = []
    for group, limit in ((covering, MAX_SECONDS), (others, MAX_OTHER_SECONDS)):
        seconds = 0.0
        for test in sorted(group, key=lambda test: test.seconds):
            seconds += test.seconds
            if seconds > limit:
                break
            chosen.append(test)
    return chosen
